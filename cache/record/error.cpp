#include "kiln/error.h"

#include <ostream>
#include <string>
#include <utility>

namespace kiln {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::invalid_setting:
      return "invalid_setting";
    case ErrorCode::invalid_option:
      return "invalid_option";
    case ErrorCode::unknown_arch:
      return "unknown_arch";
    case ErrorCode::unknown_kernel:
      return "unknown_kernel";
    case ErrorCode::header_not_found:
      return "header_not_found";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::link_failed:
      return "link_failed";
    case ErrorCode::not_cached:
      return "not_cached";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::queue_full:
      return "queue_full";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::worker_failed:
      return "worker_failed";
    case ErrorCode::compiler_missing:
      return "compiler_missing";
    case ErrorCode::driver_missing:
      return "driver_missing";
    case ErrorCode::driver_failed:
      return "driver_failed";
    case ErrorCode::capturing:
      return "capturing";
    case ErrorCode::argument_mismatch:
      return "argument_mismatch";
    case ErrorCode::cache_unusable:
      return "cache_unusable";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::ambiguous:
      return "ambiguous";
    case ErrorCode::io_failed:
      return "io_failed";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, ErrorCode code) { return out << to_string(code); }

std::ostream& operator<<(std::ostream& out, const Error& error) { return out << format_as(error); }

std::string format_as(const Error& error) {
  return error.log.empty() ? error.message : error.message + '\n' + error.log;
}

tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string log, int vendor_code) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(log), vendor_code});
}

}  // namespace kiln
