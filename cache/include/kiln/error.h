#pragma once

// kiln/error.h: errors as values: each function that may fail gives a `Result`, or an `Outcome`.
//
//     const kiln::Result<kiln::Artifact> made = runtime.compile(program, target);
//     if (!made && made.error().code == kiln::ErrorCode::compile_failed) std::fputs(made.error().log.c_str(), stderr);
//     const kiln::Artifact artifact = made.value();  // throws what the error says

#include <exception>
#include <iosfwd>
#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// What kind of thing went wrong; the message says which one and what to do.
enum class ErrorCode {
  invalid_argument,   ///< A value given by the caller makes no sense.
  invalid_setting,    ///< A `KILN_*` variable or an `Options` field makes no sense.
  invalid_option,     ///< A compiler option that kiln owns, or that the compiler refuses.
  unknown_arch,       ///< An architecture that is not one, or that the compiler does not know.
  unknown_kernel,     ///< A name expression that the program does not list or does not define.
  header_not_found,   ///< An `#include` that nothing resolves.
  compile_failed,     ///< The compiler refused the source; `log` holds its whole output.
  link_failed,        ///< The linker refused its inputs; `log` holds its whole output.
  not_cached,         ///< Nothing stored serves, and compiling is forbidden (mode cache-only).
  cancelled,          ///< Whoever asked wants it no more.
  queue_full,         ///< More is asked for than the queue of compiles may hold.
  timed_out,          ///< A compile that took longer than it may.
  worker_failed,      ///< A worker process that crashed, was killed or ran out of memory, again.
  compiler_missing,   ///< No usable NVRTC on this machine; the message lists where kiln looked.
  driver_missing,     ///< No usable CUDA driver or device on this machine.
  driver_failed,      ///< The driver answered with an error; `vendor_code` holds it.
  capturing,          ///< A driver before CUDA 12.3 would have to load amid a capture.
  argument_mismatch,  ///< Launch arguments that are not what the kernel takes.
  cache_unusable,     ///< A cache directory or file that cannot be used, and why.
  too_large,          ///< An entry that the cache's size cap leaves no room for.
  not_found,          ///< A key that names no entry.
  ambiguous,          ///< A key prefix that names more than one entry.
  io_failed,          ///< A file that could not be read or written.
};

/// The field's own word for a code, e.g. "compile_failed". Static lifetime.
[[nodiscard]] const char* to_string(ErrorCode code) noexcept;

/// An error as a value. The message names the thing and the remedy, and is fit for a person.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message = {};
  std::string log = {};  ///< The compiler's log, whole, where there is one.
  int vendor_code = 0;   ///< nvrtcResult, CUresult or SQLite's code; 0 where there is none.
};

}  // namespace kiln

namespace KILN_EXPORT kiln {

/// The code's word.
std::ostream& operator<<(std::ostream& out, ErrorCode code);
/// The message, and beneath it the log.
std::ostream& operator<<(std::ostream& out, const Error& error);
/// The same for fmt::format() and its like, which find it by themselves (fmt 10 and later).
[[nodiscard]] std::string format_as(const Error& error);

}  // namespace kiln

/// What `.value()` throws: what() is the message, and beneath it the log.
template <>
class tl::bad_expected_access<kiln::Error> : public std::exception {
 public:
  explicit bad_expected_access(kiln::Error error)
      : error_(std::move(error)), text_(format_as(error_)) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] const kiln::Error& error() const noexcept { return error_; }

 private:
  kiln::Error error_;
  std::string text_;
};

namespace KILN_EXPORT kiln {

/// Success or an error: what a function gives that has no value to give. Has a value() that throws
/// like that of the others, which tl::expected<void> lacks before 1.1.
class [[nodiscard]] Outcome : public tl::expected<void, Error> {
 public:
  using tl::expected<void, Error>::expected;

  /// Success. Written out, since `= default` would have `return {}` clear the room for an error first,
  /// which takes longer than a launch.
  Outcome() noexcept {}  // NOLINT(modernize-use-equals-default)

  /// Throws tl::bad_expected_access<Error> if this is an error.
  void value() const {
    if (!has_value()) throw tl::bad_expected_access<Error>(error());
  }
};

/// A value, or why there is none; Outcome where there is no value to give. `.value()` throws tl::bad_expected_access<Error>.
/// A template finds T by itself: `template <class T> void report(const kiln::Result<T>& result)` takes an Outcome too.
template <class T>
using Result = tl::expected<T, Error>;

}  // namespace kiln

/// So that what gives an Outcome may end a chain of and_then().
template <>
struct tl::detail::is_expected_impl<kiln::Outcome> : std::true_type {};

namespace KILN_EXPORT kiln {

/// Shorthand for returning an error from a function that gives a Result.
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string log = {},
                                         int vendor_code = 0);

}  // namespace kiln
