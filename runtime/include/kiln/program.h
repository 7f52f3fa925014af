#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/headers.h"

namespace kiln {

/// What a Program is made from.
struct ProgramSpec {
  std::string name;    ///< For messages and `__FILE__`, e.g. "rms_norm.cu"; relative, no "..".
  std::string source;  ///< CUDA C++.
  std::vector<HeaderSet> headers =
      {};  ///< Searched by literal spelling before any directory, in order.
  std::vector<std::filesystem::path> include_dirs = {};  ///< What `-I` would name, in order.
  std::vector<std::string> kernels = {};  ///< Name expressions, e.g. "rms_norm<__half, 4096>".
  std::vector<std::string> options = {};  ///< For the compiler, e.g. "--std=c++20", "-DEPS=1e-5f".
  /// Whether the CUDA toolkit's headers are searched as well, after all others.
  bool toolkit_headers = true;
};

/// Source text and all that is compiled with it: an immutable handle, cheap to copy, validated and
/// digested once when made. Safe to use from any thread.
class Program {
 public:
  /// Errors: invalid_argument (a name that is absolute, empty or climbs out with "..", an empty
  /// expression, a NUL byte), invalid_option (one that kiln owns; the message names the field to use).
  [[nodiscard]] static Result<Program> make(ProgramSpec spec);

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const std::string& source() const noexcept;
  [[nodiscard]] const Digest& source_digest() const noexcept;
  [[nodiscard]] const std::vector<HeaderSet>& headers() const noexcept;
  /// Absolute and lexically normal.
  [[nodiscard]] const std::vector<std::filesystem::path>& include_dirs() const noexcept;
  /// Sorted and distinct.
  [[nodiscard]] const std::vector<std::string>& kernels() const noexcept;
  [[nodiscard]] const std::vector<std::string>& options() const noexcept;
  [[nodiscard]] bool toolkit_headers() const noexcept;

  /// The same for all copies of one handle, never used twice in a process: what memoisation goes by.
  [[nodiscard]] std::uint64_t id() const noexcept;

 private:
  struct State;
  explicit Program(std::shared_ptr<const State> state) noexcept;
  std::shared_ptr<const State> state_;
};

}  // namespace kiln
