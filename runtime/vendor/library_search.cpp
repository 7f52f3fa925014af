#include "vendor/library_search.h"

#include <link.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "system/descriptor.h"
#include "system/environment.h"
#include "system/no_fork.h"
#include "vendor/elf_notes.h"
#include "vendor/loader_paths.h"

namespace kiln::vendor {

namespace {

namespace fs = std::filesystem;

const char* variable(const char* name) {
  const char* value = system::variable(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

// What lies in a folder under such a name with a version, newest first: "cuda-12.10" before "cuda-12.9".
std::vector<fs::path> newest_first(const fs::path& folder, std::string_view beginning) {
  const auto version = [&](const fs::path& versioned) {
    const auto text = versioned.filename().string().substr(beginning.size());
    const auto dot = text.find('.');
    return std::pair(std::atoi(text.c_str()),
                     dot == std::string::npos ? 0 : std::atoi(text.c_str() + dot + 1));
  };
  auto all = children(folder, beginning);
  std::ranges::stable_sort(all, std::greater(), version);
  return all;
}

class Search {
 public:
  Search(const WantedLibrary& wanted, const Examine& examine)
      : wanted_(wanted), examine_(examine) {}

  bool try_file(const std::string& origin, const fs::path& library) {
    if (found_) return true;
    if (!is_file(library)) {
      std::error_code ignored;
      note(origin, library,
           is_folder(library)             ? "a directory"
           : fs::exists(library, ignored) ? "not a file"
                                          : "no such file");
      return false;
    }
    const auto examined = examine_(library, origin);
    found_ = examined.has_value();
    note(origin, library, found_ ? "found" : examined.error().message);
    return found_;
  }

  void try_folder(const std::string& origin, const fs::path& folder) {
    if (found_) return;
    for (const auto soname : wanted_.sonames) {
      if (is_file(folder / soname)) {
        try_file(origin, folder / soname);
        return;
      }
    }
    note(origin, folder, fmt::format("no {}", fmt::join(wanted_.sonames, " or ")));
  }

  // Wheels put each library in a folder of its own under nvidia/; since CUDA 13 all in one.
  void try_wheels(const std::string& origin, const fs::path& packages) {
    for (const auto folder : wanted_.wheel_folders) {
      if (is_folder(packages / folder)) try_folder(origin, packages / folder);
    }
  }

  void try_beside_nvrtc(const fs::path& folder) {
    if (folder.empty()) return;
    try_folder("beside NVRTC", wanted_.is_program ? folder.parent_path() / "bin" : folder);
    try_wheels("beside NVRTC", folder.parent_path().parent_path().parent_path());
  }

  void try_loaded() {
    if (wanted_.is_program) return;
    struct Collected {
      std::string_view stem;
      std::vector<fs::path> files;
    } loaded{wanted_.stem, {}};
    const auto collect = [](dl_phdr_info* info, std::size_t, void* into) {
      auto& collected = *static_cast<Collected*>(into);
      const std::string_view name = info->dlpi_name;
      if (name.substr(name.rfind('/') + 1).starts_with(collected.stem))
        collected.files.emplace_back(name);
      return 0;
    };
    {
      // A child would find the loader's own lock taken, for good.
      const system::NoFork no_fork;
      dl_iterate_phdr(collect, &loaded);
    }
    for (const auto& library : loaded.files) try_file("already loaded", library);
  }

  void try_beside_this_library() {
    const auto own = own_file();
    if (!own.empty()) try_wheels("beside kiln", own.parent_path().parent_path());
  }

  void try_environments() {
    if (const char* environment = variable("VIRTUAL_ENV")) {
      for (const auto& python : children(fs::path(environment) / "lib")) {
        try_wheels("$VIRTUAL_ENV", python / "site-packages");
      }
    } else {
      note("$VIRTUAL_ENV", "Python's packages", "no environment is active");
    }
    if (const char* environment = variable("CONDA_PREFIX")) {
      try_folder("$CONDA_PREFIX", folder_in(environment));
    }
  }

  void try_loader() {
    if (wanted_.is_program) return try_path();
    for (const auto soname : wanted_.sonames) {
      const auto places = loader_paths(soname);
      if (places.empty()) note("the loader's paths", std::string(soname), "not found");
      for (const auto& place : places) {
        if (try_file("the loader's paths", place)) return;
      }
    }
  }

  void try_toolkits() {
    for (const auto& [origin, root] : toolkits()) {
      try_folder(origin, folder_in(root));
    }
  }

  // Where pip puts what no environment holds. Many a container has its wheels so.
  void try_packages_of_machine() {
    const auto before = steps_.size();
    if (const char* home = variable("HOME")) {
      for (const auto& python : newest_first(fs::path(home) / ".local/lib", "python"))
        try_wheels("the user's Python packages", python / "site-packages");
    }
    for (const auto& python : newest_first("/usr/local/lib", "python")) {
      for (const auto* folder : {"dist-packages", "site-packages"})
        try_wheels("the machine's Python packages", python / folder);
    }
    if (steps_.size() == before)
      note("outside an environment", "Python's packages", "none of NVIDIA's");
  }

  [[nodiscard]] bool found() const { return found_; }
  std::vector<SearchStep> take_steps() { return std::move(steps_); }

 private:
  void try_path() {
    const char* path = system::variable("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      // A relative one would make the result depend on where the process happens to stand.
      if (folder.starts_with('/')) try_folder("$PATH", folder);
    }
  }

  // Of a toolkit, or of what is laid out like one.
  [[nodiscard]] fs::path folder_in(const fs::path& root) const {
    if (wanted_.is_program) return root / "bin";
    return is_folder(root / "lib64") ? root / "lib64" : root / "lib";
  }

  void note(const std::string& origin, const fs::path& place, std::string outcome) {
    steps_.push_back({origin, place.string(), std::move(outcome)});
  }

  const WantedLibrary& wanted_;
  const Examine& examine_;
  bool found_ = false;
  std::vector<SearchStep> steps_;
};

// The version in the name of the real file, e.g. "13.0.88"; else the one in the soname.
std::string version_of(const WantedLibrary& wanted, const fs::path& library) {
  std::error_code failure;
  const auto real = fs::canonical(library, failure);
  for (const auto& file : {real, library}) {
    const auto name = file.filename().string();
    if (name.starts_with(wanted.stem)) return name.substr(wanted.stem.size());
  }
  return {};
}

Toolchain toolchain_of(const WantedLibrary& wanted, const fs::path& library,
                       const std::string& build_id) {
  auto text = std::string(wanted.name);
  if (const auto version = version_of(wanted, library); !version.empty()) text += ' ' + version;
  return {digest_of(fmt::format("{} {}", wanted.name, build_id)), std::move(text)};
}

}  // namespace

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<fs::path> children(const fs::path& folder, std::string_view beginning) {
  std::vector<fs::path> all;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    const std::string_view path = at->path().native();
    if (path.substr(path.rfind('/') + 1).starts_with(beginning)) all.push_back(at->path());
  }
  // A directory lists its files in any order.
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::pair<std::string, fs::path>> toolkits() {
  std::vector<std::pair<std::string, fs::path>> found;
  for (const auto* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* root = variable(name)) found.emplace_back(fmt::format("${}", name), root);
  }
  for (const auto& folder : newest_first("/usr/local", "cuda-"))
    found.emplace_back("toolkit", folder);
  found.emplace_back("toolkit", "/usr/local/cuda");
  return found;
}

std::vector<SearchStep> search_library(const WantedLibrary& wanted,
                                       const std::optional<fs::path>& exact,
                                       const fs::path& beside_nvrtc, const Examine& examine) {
  Search search(wanted, examine);
  if (exact) {
    search.try_file(std::string(wanted.variable), *exact);
    return search.take_steps();
  }
  search.try_beside_nvrtc(beside_nvrtc);
  for (const auto attempt :
       {&Search::try_loaded, &Search::try_beside_this_library, &Search::try_environments,
        &Search::try_loader, &Search::try_toolkits, &Search::try_packages_of_machine}) {
    if (search.found()) break;
    (search.*attempt)();
  }
  return search.take_steps();
}

LibrarySearch find_library(const WantedLibrary& wanted, const std::optional<fs::path>& exact,
                           const fs::path& beside_nvrtc) {
  LibrarySearch search;
  const auto examine = [&](const fs::path& library, const std::string& origin) -> Outcome {
    const auto id = library_identity(library);
    if (!id) return tl::unexpected(id.error());
    search.files = LibraryFiles{library, {}, origin, toolchain_of(wanted, library, *id)};
    return {};
  };
  search.steps = search_library(wanted, exact, beside_nvrtc, examine);
  return search;
}

tl::unexpected<Error> missing(const WantedLibrary& wanted, const LibrarySearch& search) {
  const bool named = search.steps.size() == 1 && search.steps.front().origin == wanted.variable;
  const auto remedy =
      named
          ? fmt::format(
                "Correct {}, or the option that the program gave in its place; or leave it out, so "
                "that kiln looks where the package {} or a CUDA toolkit has it",
                wanted.variable, wanted.package)
          : fmt::format("Install the package {} or a CUDA toolkit that has it, or name it with {}",
                        wanted.package, wanted.variable);
  return fail(ErrorCode::compiler_missing,
              fmt::format("{}: not found, so {}. Looked at:\n{}\n{}", wanted.name, wanted.loss,
                          describe(search.steps), remedy));
}

bool may_be_run_from(const fs::path& file) {
  struct statvfs place;
  return ::statvfs(file.c_str(), &place) != 0 || (place.f_flag & ST_NOEXEC) == 0;
}

bool has_limited_memory() {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// What the process may not do is no fault of the library. The loader tells it in words alone, behind the library's name.
std::string_view limit_in(std::string_view why, const fs::path& library) {
  if (why.starts_with(library.native())) why.remove_prefix(library.native().size());
  const auto says = [&](std::string_view words) { return why.find(words) != why.npos; };
  if (says(std::strerror(EMFILE)) || says(std::strerror(ENFILE)))
    return system::remedy_for_descriptors;
  if (!says("failed to map segment")) return {};
  if (!may_be_run_from(library)) return "its filesystem is mounted noexec: put it elsewhere";
  return has_limited_memory() ? "let the process have more memory (ulimit -v)" : "";
}

tl::unexpected<Error> unusable(const WantedLibrary& wanted, const LibraryFiles& files,
                               std::string_view why) {
  const auto limit = limit_in(why, files.library);
  const auto remedy = limit.empty()
                          ? fmt::format(". Name another one with {}, or reinstall the package {}",
                                        wanted.variable, wanted.package)
                          : fmt::format("; {}", limit);
  return fail(ErrorCode::compiler_missing,
              fmt::format("{} cannot be used: {} (from {}): {}{}", wanted.name,
                          files.library.string(), files.origin, why, remedy));
}

}  // namespace kiln::vendor
