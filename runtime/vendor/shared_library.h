#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln::vendor {

/// A dlopen'ed library, kept open for the rest of the process: vendor libraries start threads and
/// register handlers that do not survive an unload. Copies name the same library.
class SharedLibrary {
 public:
  /// Opens exactly this path or soname. A fork of the process waits for it, but no longer than a second. The
  /// error's message is the loader's own words, or says that this process was forked amid a load that took
  /// longer.
  [[nodiscard]] static Result<SharedLibrary> open(const std::string& name);

  /// The library if something in this process has loaded it already. The same error otherwise.
  [[nodiscard]] static Result<SharedLibrary> already_loaded(const std::string& soname);

  /// The symbol's address, or nullptr.
  [[nodiscard]] void* symbol(const char* name) const noexcept;

  /// Where it lies in memory, as the loader tells it.
  [[nodiscard]] std::uintptr_t address() const noexcept;

  /// The file that was really loaded, absolute.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  SharedLibrary(void* handle, std::filesystem::path path);
  void* handle_;
  std::filesystem::path path_;
};

/// The file that holds kiln itself: its shared library, or the program that it is linked into. Empty
/// where the loader does not tell.
[[nodiscard]] std::filesystem::path own_file();

/// Keeps the library (or program) that holds this function loaded for the rest of the process: a thread may
/// still run in it when a host would unload it.
void keep_loaded(void (*function)()) noexcept;

/// One place where a library was looked for, where the idea came from, and what was found there.
struct SearchStep {
  std::string origin;   ///< E.g. "KILN_NVRTC", "$CUDA_HOME", "the loader's cache".
  std::string place;    ///< A path or a soname.
  std::string outcome;  ///< E.g. "no such file", or the loader's own words.
};

/// "/usr/lib/libnvrtc.so.13 (the loader's cache): no such file".
[[nodiscard]] std::string describe(const SearchStep& step);

/// The steps as an indented list, a line each, for an error's message.
[[nodiscard]] std::string describe(const std::vector<SearchStep>& steps);

}  // namespace kiln::vendor
