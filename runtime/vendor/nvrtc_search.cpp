#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "vendor/elf_notes.h"
#include "vendor/library_search.h"
#include "vendor/nvrtc.h"

extern char** environ;

namespace kiln::vendor {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> sonames{"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr std::array<std::string_view, 2> wheel_folders{"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};
constexpr WantedLibrary wanted{.name = "NVRTC",
                               .variable = "KILN_NVRTC",
                               .stem = "libnvrtc.so.",
                               .sonames = sonames,
                               .wheel_folders = wheel_folders,
                               .package = "nvidia-cuda-nvrtc",
                               .loss = "nothing can be compiled"};
constexpr std::string_view builtins_stem = "libnvrtc-builtins.so.";

// The version in the file's name; empty where the file is named otherwise.
std::string soname_version(const fs::path& library) {
  const auto name = library.filename().string();
  return name.starts_with(wanted.stem) ? name.substr(wanted.stem.size()) : "";
}

// The builtins are named after the version, and carry the number that the library's soname lacks.
fs::path builtins_beside(const fs::path& library) {
  const auto major = soname_version(library).substr(0, 2);
  const auto files = children(library.parent_path(), std::string(builtins_stem).append(major));
  // "libnvrtc-builtins.so.13.0": two numbers; longer names are what this one is a link to.
  const auto with_two_numbers = [](const fs::path& file) {
    const auto& name = file.native();
    return std::count(name.begin() + static_cast<std::ptrdiff_t>(name.rfind('/') + 1), name.end(),
                      '.') == 3;
  };
  const auto found = std::ranges::find_if(files, with_two_numbers);
  return found != files.end() ? *found : fs::path{};
}

std::string version_of(const fs::path& library, const fs::path& builtins) {
  if (!builtins.empty()) return builtins.filename().string().substr(builtins_stem.size());
  return soname_version(library);
}

}  // namespace

bool is_compiler_variable(std::string_view entry) {
  constexpr std::array<std::string_view, 11> beginnings{"NVRTC",
                                                        "EDG_",
                                                        "NVVM_",
                                                        "LLVM_",
                                                        "PTXAS_",
                                                        "CICC_",
                                                        "CAN_FINALIZE_DEBUG=",
                                                        "DUMP_KNOBS_TO_FILE=",
                                                        "LIBNVVM_",
                                                        "NVPTX_",
                                                        "CUDA_DEVICE_DEBUG"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return entry.starts_with(beginning); });
}

namespace {

// The variables of this process that NVRTC reads: they may change what it makes here.
std::string nvrtc_variables() {
  std::vector<std::string> set;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (is_compiler_variable(*entry)) set.emplace_back(*entry);
  }
  std::sort(set.begin(), set.end());
  std::string all;
  for (const auto& entry : set) all.append(entry).push_back('\0');
  return all;
}

Toolchain toolchain_of(const fs::path& library, const fs::path& builtins,
                       const std::string& library_id, const std::string& builtins_id,
                       const std::string& variables) {
  const auto material =
      fmt::format("nvrtc {} builtins {} environment {}", library_id, builtins_id, variables);
  return {digest_of(material), "NVRTC " + version_of(library, builtins)};
}

// Where headers of CUDA lie, in the order in which they are searched.
struct HeaderLayout {
  fs::path cccl;
  fs::path runtime;
  fs::path crt;  ///< Empty where these lie among the runtime's.
};

// Two layouts: include/ beside lib/ (toolkits, conda, CUDA 13 wheels), or a folder per wheel (CUDA 12).
bool add_include_dirs(const fs::path& root, std::vector<fs::path>& directories) {
  const auto wheels = root.parent_path();
  const std::array<HeaderLayout, 2> layouts{
      {{root / "include/cccl", root / "include", {}},
       {wheels / "cuda_cccl/include", wheels / "cuda_runtime/include",
        wheels / "cuda_nvcc/include"}}};
  for (const auto& [cccl, runtime, crt] : layouts) {
    if (!is_file(runtime / "cuda_fp16.h")) continue;
    if (is_folder(cccl)) directories.push_back(cccl);
    directories.push_back(runtime);
    if (is_folder(crt)) directories.push_back(crt);
    return true;
  }
  return false;
}

}  // namespace

bool has_compiler_variables() { return !nvrtc_variables().empty(); }

LibrarySearch find_nvrtc(const std::optional<fs::path>& exact, NvrtcVariables variables) {
  LibrarySearch search;
  const auto reaching = variables == NvrtcVariables::inherited ? nvrtc_variables() : std::string();
  const auto examine = [&](const fs::path& library, const std::string& origin) -> Outcome {
    const auto library_id = library_identity(library);
    if (!library_id) return tl::unexpected(library_id.error());
    const auto builtins = builtins_beside(library);
    const auto builtins_id =
        builtins.empty() ? Result<std::string>("") : library_identity(builtins);
    if (!builtins_id) {
      return fail(ErrorCode::io_failed,
                  fmt::format("{}: {}", builtins.string(), builtins_id.error().message));
    }
    search.files =
        LibraryFiles{library, builtins, origin,
                     toolchain_of(library, builtins, *library_id, *builtins_id, reaching)};
    return {};
  };
  search.steps = search_library(wanted, exact, {}, examine);
  return search;
}

const WantedLibrary& wanted_nvrtc() noexcept { return wanted; }

std::vector<fs::path> toolkit_include_dirs(const LibrarySearch& search) {
  std::vector<fs::path> directories;
  if (search.files) {
    const auto library_folder = search.files->library.parent_path();
    if (add_include_dirs(library_folder.parent_path(), directories)) return directories;
  }
  for (const auto& [origin, root] : toolkits()) {
    if (add_include_dirs(root, directories)) break;
  }
  return directories;
}

}  // namespace kiln::vendor
