// Compilers that are there and do not serve: each is named, with where the idea came from and what is the
// matter with it. The files are the real NVRTC's, spoilt. Builtins that are missing are in roots/: a loader that
// knows others gives those.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

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
  const fs::path library_ = folder_ / "libnvrtc.so.13";
};

TEST_F(BadCompiler, IsNotThere) {
  const auto error = failure();
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message, AllOf(HasSubstr(library_.string() + " (KILN_NVRTC): no such file"),
                                   HasSubstr("nvidia-cuda-nvrtc")));
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
