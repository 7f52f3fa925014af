#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "elf_notes.h"
#include "loader_paths.h"
#include "nvrtc.h"

extern char** environ;

namespace kiln::vendor {

namespace {

namespace fs = std::filesystem;

// Newest first. Development symlinks (libnvrtc.so) are not looked at: they say nothing of the version.
constexpr std::array<std::string_view, 2> sonames{"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr std::string_view library_stem = "libnvrtc.so.";
constexpr std::string_view builtins_stem = "libnvrtc-builtins.so.";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    all.push_back(at->path());
  }
  // Never in the order of the directory, which is anybody's.
  std::sort(all.begin(), all.end());
  return all;
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

// The builtins are named after the version, and carry the number that the library's soname lacks.
fs::path builtins_beside(const fs::path& library) {
  for (const auto& file : children(library.parent_path())) {
    const auto name = file.filename().string();
    // "libnvrtc-builtins.so.13.0": two numbers; longer names are what this one is a link to.
    if (name.starts_with(builtins_stem) && std::count(name.begin(), name.end(), '.') == 3 &&
        name.substr(builtins_stem.size())
            .starts_with(library.filename().string().substr(library_stem.size(), 2))) {
      return file;
    }
  }
  return {};
}

std::string version_of(const fs::path& library, const fs::path& builtins) {
  if (!builtins.empty()) return builtins.filename().string().substr(builtins_stem.size());
  return library.filename().string().substr(
      std::min(library_stem.size(), library.filename().string().size()));
}

// NVRTC reads variables of its own; in this process one that is set may change what it makes.
std::string nvrtc_variables() {
  std::vector<std::string> set;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("NVRTC_")) set.emplace_back(*entry);
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

class Search {
 public:
  explicit Search(NvrtcVariables variables)
      : variables_(variables == NvrtcVariables::inherited ? nvrtc_variables() : std::string()) {}

  NvrtcSearch result;

  // Takes the first that can be NVRTC; says of each place why not.
  bool try_file(const std::string& origin, const fs::path& library) {
    if (result.files) return true;
    if (!is_file(library))
      return note(origin, library, is_folder(library) ? "a directory" : "no such file");
    const auto library_id = build_id(library);
    if (!library_id) return note(origin, library, library_id.error().message);
    const auto builtins = builtins_beside(library);
    const auto builtins_id = builtins.empty() ? Result<std::string>("") : build_id(builtins);
    if (!builtins_id) return note(origin, builtins, builtins_id.error().message);
    result.files =
        NvrtcFiles{library, builtins, origin,
                   toolchain_of(library, builtins, *library_id, *builtins_id, variables_)};
    return note(origin, library, "found");
  }

  bool try_folder(const std::string& origin, const fs::path& folder) {
    if (result.files) return true;
    for (const auto soname : sonames) {
      if (is_file(folder / soname)) return try_file(origin, folder / soname);
    }
    return note(origin, folder, "no libnvrtc.so.13 or .12");
  }

  bool note(const std::string& origin, const fs::path& place, std::string outcome) {
    result.steps.push_back({origin, place.string(), std::move(outcome)});
    return result.files.has_value();
  }

 private:
  const std::string variables_;
};

void try_loaded(Search& search) {
  std::vector<fs::path> loaded;
  const auto collect = [](dl_phdr_info* info, std::size_t, void* into) {
    const std::string_view name = info->dlpi_name;
    if (name.substr(name.rfind('/') + 1).starts_with(library_stem)) {
      static_cast<std::vector<fs::path>*>(into)->emplace_back(name);
    }
    return 0;
  };
  dl_iterate_phdr(collect, &loaded);
  for (const auto& library : loaded) search.try_file("already loaded", library);
}

// Wheels put each library in a folder of its own under nvidia/; since CUDA 13 all in one.
void try_wheels(Search& search, const std::string& origin, const fs::path& packages) {
  for (const auto* folder : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}) {
    if (is_folder(packages / folder)) search.try_folder(origin, packages / folder);
  }
}

void try_beside_this_library(Search& search) {
  const auto own = own_file();
  if (!own.empty()) try_wheels(search, "beside kiln", own.parent_path().parent_path());
}

void try_environments(Search& search) {
  if (const char* environment = variable("VIRTUAL_ENV")) {
    for (const auto& python : children(fs::path(environment) / "lib")) {
      try_wheels(search, "$VIRTUAL_ENV", python / "site-packages");
    }
  }
  if (const char* environment = variable("CONDA_PREFIX")) {
    search.try_folder("$CONDA_PREFIX", fs::path(environment) / "lib");
  }
}

void try_loader(Search& search) {
  for (const auto soname : sonames) {
    const auto places = loader_paths(soname);
    if (places.empty()) search.note("the loader's paths", std::string(soname), "not found");
    for (const auto& place : places) {
      if (search.try_file("the loader's paths", place)) return;
    }
  }
}

// "cuda-12.10" is newer than "cuda-12.9".
std::pair<int, int> version_in(const fs::path& folder) {
  const auto name = folder.filename().string();
  const auto dot = name.find('.');
  return {std::atoi(name.c_str() + std::min<std::size_t>(name.size(), 5)),
          dot == std::string::npos ? 0 : std::atoi(name.c_str() + dot + 1)};
}

std::vector<std::pair<std::string, fs::path>> toolkits() {
  std::vector<std::pair<std::string, fs::path>> found;
  for (const auto* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* root = variable(name)) found.emplace_back(fmt::format("${}", name), root);
  }
  std::vector<fs::path> versions;
  for (const auto& folder : children("/usr/local")) {
    if (folder.filename().string().starts_with("cuda-")) versions.push_back(folder);
  }
  std::stable_sort(versions.begin(), versions.end(), [](const auto& left, const auto& right) {
    return version_in(left) > version_in(right);
  });
  for (const auto& folder : versions) found.emplace_back("toolkit", folder);
  found.emplace_back("toolkit", "/usr/local/cuda");
  return found;
}

void try_toolkits(Search& search) {
  for (const auto& [origin, root] : toolkits()) {
    const auto folder = is_folder(root / "lib64") ? root / "lib64" : root / "lib";
    search.try_folder(origin, folder);
  }
}

// Two layouts: include/ beside lib/ (toolkits, conda, CUDA 13 wheels), or a folder per wheel (CUDA 12).
bool add_include_dirs(const fs::path& root, std::vector<fs::path>& directories) {
  const std::array<std::pair<fs::path, fs::path>, 2> layouts{
      {{root / "include", root / "include/cccl"},
       {root.parent_path() / "cuda_runtime/include", root.parent_path() / "cuda_cccl/include"}}};
  for (const auto& [headers, cccl] : layouts) {
    if (!is_file(headers / "cuda_fp16.h")) continue;
    if (is_folder(cccl)) directories.push_back(cccl);
    directories.push_back(headers);
    return true;
  }
  return false;
}

}  // namespace

bool has_nvrtc_variables() { return !nvrtc_variables().empty(); }

NvrtcSearch find_nvrtc(const std::optional<fs::path>& exact, NvrtcVariables variables) {
  Search search(variables);
  if (exact) {
    search.try_file("KILN_NVRTC", *exact);
    return std::move(search.result);
  }
  for (const auto attempt :
       {try_loaded, try_beside_this_library, try_environments, try_loader, try_toolkits}) {
    attempt(search);
    if (search.result.files) break;
  }
  return std::move(search.result);
}

Error nvrtc_missing(const NvrtcSearch& search) {
  return {ErrorCode::compiler_missing,
          fmt::format("NVRTC: not found, so nothing can be compiled. Looked at:\n{}\n"
                      "Install a CUDA toolkit or the package nvidia-cuda-nvrtc, or name the "
                      "library with KILN_NVRTC",
                      describe(search.steps)),
          {},
          0};
}

std::vector<fs::path> toolkit_include_dirs(const NvrtcSearch& search) {
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
