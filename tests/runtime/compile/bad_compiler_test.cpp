// Compilers that are there and do not serve: each is named, with where the idea came from and what is the
// matter with it. The files are the real NVRTC's, spoilt. Builtins that are missing are in roots/: a loader that
// knows others gives those.

#include <sys/resource.h>
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "vendor/elf_notes.h"
#include "vendor/library_search.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class BadCompiler : public CompileFixture {
 protected:
  BadCompiler() { fs::create_directory(folder_); }

  // What a compile by that library comes to.
  Error failure() {
    const ScopedVariable variable("KILN_NVRTC", library_.string());
    const auto artifact = try_compile({.name = "a.cu", .source = "__global__ void k() {}"});
    EXPECT_FALSE(artifact);
    return artifact ? Error{} : artifact.error();
  }

  static fs::path real() {
    static const auto path =
        Runtime::open({.cache_disabled = true, .log_level = LogLevel::off})->compiler().path;
    return fs::canonical(path);
  }
  static fs::path real_builtins() {
    for (const auto& file : fs::directory_iterator(real().parent_path())) {
      const auto name = file.path().filename().string();
      if (name.starts_with("libnvrtc-builtins.so.") && !file.is_symlink()) return file.path();
    }
    return {};
  }

  const fs::path folder_ = scratch_ / "lib";
  // Not by NVRTC's own name, so that a sanitizer can tell it from the one that serves.
  const fs::path library_ = folder_ / "nvrtc.so.13";
};

TEST_F(BadCompiler, IsNotThere) {
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(
      error.message,
      AllOf(HasSubstr(library_.string() + " (KILN_NVRTC): no such file"),
            HasSubstr("Correct KILN_NVRTC, or the option that the program gave in its place"),
            HasSubstr("nvidia-cuda-nvrtc")));
}

TEST_F(BadCompiler, OfCuda12HasAFolderForEachWheelOfHeaders) {
  const auto wheels = scratch_ / "nvidia";
  const auto library = wheels / "cuda_nvrtc/lib/nvrtc.so.12";
  fs::create_directories(library.parent_path());
  fs::create_symlink(real(), library);
  for (const auto* name : {"cuda_runtime", "cuda_cccl", "cuda_nvcc"})
    fs::create_directories(wheels / name / "include");
  write_file(wheels / "cuda_runtime/include/cuda_fp16.h", "");
  const ScopedVariable compiler("KILN_NVRTC", library.string());
  const auto runtime = Runtime::open({.cache_disabled = true, .log_level = LogLevel::off}).value();
  EXPECT_THAT(runtime.compiler().include_dirs,
              ElementsAre(wheels / "cuda_cccl/include", wheels / "cuda_runtime/include",
                          wheels / "cuda_nvcc/include"));
}

TEST_F(BadCompiler, LeavesItsHeadersToBeFound) {
  const auto toolkit = scratch_ / "toolkit";
  fs::create_directories(toolkit / "include/cccl");
  write_file(toolkit / "include/cuda_fp16.h", "");
  const ScopedVariable compiler("KILN_NVRTC", library_.string());
  const ScopedVariable root("CUDA_HOME", toolkit.string());
  const auto runtime = Runtime::open({.cache_disabled = true, .log_level = LogLevel::off}).value();
  const auto told = runtime.compiler();
  EXPECT_FALSE(told.available);
  EXPECT_EQ(runtime.toolchain(), "");
  EXPECT_THAT(told.include_dirs, ElementsAre(toolkit / "include/cccl", toolkit / "include"));
}

TEST_F(BadCompiler, IsCutShort) {
  write_file(library_, read_file(real()).substr(0, 1 << 20));
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(library_.string()), HasSubstr("an ELF library cut short")));
}

TEST_F(BadCompiler, IsADirectory) {
  fs::create_directory(library_);
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(library_.string()), HasSubstr(" (KILN_NVRTC): a directory")));
}

TEST_F(BadCompiler, IsAPipe) {
  ASSERT_EQ(::mkfifo(library_.c_str(), 0600), 0);
  EXPECT_THAT(failure().message, HasSubstr(" (KILN_NVRTC): not a file"));
}

// The loader's words are all that tells it.
TEST_F(BadCompiler, IsNotToBlameForALimitOfTheProcess) {
  vendor::WantedLibrary wanted{};
  wanted.name = "NVRTC";
  vendor::LibraryFiles files;
  files.library = library_;
  const auto remedy = [&](const char* why) {
    return vendor::unusable(wanted, files, why).value().message;
  };
  EXPECT_THAT(remedy("cannot open shared object file: Too many open files"),
              AllOf(HasSubstr("ulimit -n"), Not(HasSubstr("reinstall"))));
  const char* const unmapped = "failed to map segment from shared object";
  EXPECT_THAT(remedy(unmapped), HasSubstr("reinstall")) << "nobody says that memory is short";
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit much{rlim_t{1} << 46, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &much), 0);
  EXPECT_THAT(remedy(unmapped), AllOf(HasSubstr("ulimit -v"), Not(HasSubstr("reinstall"))));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_THAT(remedy("invalid ELF header"), HasSubstr("reinstall"));
}

TEST_F(BadCompiler, IsNoLibrary) {
  write_file(library_, "not a library");
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(library_.string()), HasSubstr("not a 64-bit ELF library")));
}

TEST_F(BadCompiler, IsOfAnotherMachine) {
  auto bytes = read_file(real());
  // e_machine, little-endian at 18: 62 is x86-64, 183 aarch64.
  bytes[18] = static_cast<char>(bytes[18] == 62 ? 183 : 62);
  write_file(library_, bytes);
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(library_.string()), HasSubstr("another architecture")));
}

TEST_F(BadCompiler, IsAnotherLibrary) {
  fs::copy_file(real_builtins(), library_);
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message, AllOf(HasSubstr(library_.string()), HasSubstr("nvrtcVersion")));
}

// NVRTC before 12.9 is one. It serves, and another build of it is another compiler.
TEST_F(BadCompiler, OneWithoutABuildIdIsNotBad) {
  auto bytes = read_file(real());
  std::string id;
  const auto digits = vendor::build_id(real()).value();
  for (std::size_t at = 0; at < digits.size(); at += 2)
    id += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
  const auto name = bytes.find(std::string("GNU\0", 4) + id);
  ASSERT_NE(name, std::string::npos);
  bytes[name] = 'X';
  write_file(library_, bytes);
  ASSERT_EQ(vendor::build_id(library_).value(), "");
  fs::copy_file(real_builtins(), folder_ / real_builtins().filename());
  const ScopedVariable variable("KILN_NVRTC", library_.string());
  const ProgramSpec spec{.name = "a.cu", .source = "__global__ void k() {}", .kernels = {"k"}};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  // Another file, since this process has that one mapped. In the last byte of a page that is looked at.
  const auto other = folder_ / "another";
  bytes[bytes.size() / 256 * 128 + 4095] ^= 1;
  write_file(other, bytes);
  EXPECT_NE(vendor::library_identity(other).value(), vendor::library_identity(library_).value());
  EXPECT_EQ(vendor::library_identity(real()).value(), digits);
}

TEST_F(BadCompiler, HasBuiltinsThatAreNone) {
  fs::copy_file(real(), library_);
  const auto builtins = folder_ / real_builtins().filename();
  write_file(builtins, "no builtins");
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message, HasSubstr(builtins.string()));
}

}  // namespace
}  // namespace kiln::test
