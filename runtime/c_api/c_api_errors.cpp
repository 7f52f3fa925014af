#include "c_api/c_api_errors.h"

#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace kiln::c_api {
namespace {

/// By name, so that the numbers stay where they are whatever becomes of ErrorCode.
kiln_code code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return KILN_ERROR_INVALID_ARGUMENT;
    case ErrorCode::invalid_setting:
      return KILN_ERROR_INVALID_SETTING;
    case ErrorCode::invalid_option:
      return KILN_ERROR_INVALID_OPTION;
    case ErrorCode::unknown_arch:
      return KILN_ERROR_UNKNOWN_ARCH;
    case ErrorCode::unknown_kernel:
      return KILN_ERROR_UNKNOWN_KERNEL;
    case ErrorCode::header_not_found:
      return KILN_ERROR_HEADER_NOT_FOUND;
    case ErrorCode::compile_failed:
      return KILN_ERROR_COMPILE_FAILED;
    case ErrorCode::link_failed:
      return KILN_ERROR_LINK_FAILED;
    case ErrorCode::not_cached:
      return KILN_ERROR_NOT_CACHED;
    case ErrorCode::cancelled:
      return KILN_ERROR_CANCELLED;
    case ErrorCode::queue_full:
      return KILN_ERROR_QUEUE_FULL;
    case ErrorCode::timed_out:
      return KILN_ERROR_TIMED_OUT;
    case ErrorCode::worker_failed:
      return KILN_ERROR_WORKER_FAILED;
    case ErrorCode::compiler_missing:
      return KILN_ERROR_COMPILER_MISSING;
    case ErrorCode::driver_missing:
      return KILN_ERROR_DRIVER_MISSING;
    case ErrorCode::driver_failed:
      return KILN_ERROR_DRIVER_FAILED;
    case ErrorCode::capturing:
      return KILN_ERROR_CAPTURING;
    case ErrorCode::argument_mismatch:
      return KILN_ERROR_ARGUMENT_MISMATCH;
    case ErrorCode::cache_unusable:
      return KILN_ERROR_CACHE_UNUSABLE;
    case ErrorCode::too_large:
      return KILN_ERROR_TOO_LARGE;
    case ErrorCode::not_found:
      return KILN_ERROR_NOT_FOUND;
    case ErrorCode::ambiguous:
      return KILN_ERROR_AMBIGUOUS;
    case ErrorCode::io_failed:
      return KILN_ERROR_IO_FAILED;
  }
  return KILN_ERROR_INTERNAL;
}

/// Of static lifetime, for when there is no memory for another one.
kiln_error* out_of_memory() noexcept {
  // Without memory of its own, and never destroyed.
  alignas(kiln_error) static std::byte place[sizeof(kiln_error)];
  static auto* const error = new (place) kiln_error{KILN_ERROR_OUT_OF_MEMORY, {}};
  return error;
}

kiln_error* internal_error(const char* what) {
  return new kiln_error{KILN_ERROR_INTERNAL, {ErrorCode{}, what, {}, 0}};
}

kiln_error* copy_of_exception() {
  try {
    throw;
  } catch (const tl::bad_expected_access<Error>& refused) {
    return new kiln_error(error_of(refused.error()));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& fault) {
    return internal_error(fault.what());
  } catch (...) {
    return internal_error("an exception of an unknown type");
  }
}

}  // namespace

void refuse(std::string message, ErrorCode code) {
  throw tl::bad_expected_access<Error>({code, std::move(message), {}, 0});
}

kiln_error error_of(const Error& error) { return {code_of(error.code), error}; }

kiln_error* error_of_exception() noexcept {
  try {
    return copy_of_exception();
  } catch (...) {
    return out_of_memory();
  }
}

}  // namespace kiln::c_api

kiln_code kiln_error_code(const kiln_error* error) {
  return error != nullptr ? error->code : KILN_OK;
}

const char* kiln_error_code_name(const kiln_error* error) {
  switch (kiln_error_code(error)) {
    case KILN_OK:
      return "ok";
    case KILN_ERROR_OUT_OF_MEMORY:
      return "out_of_memory";
    case KILN_ERROR_INTERNAL:
      return "internal";
    default:
      return kiln::to_string(error->error.code);
  }
}

const char* kiln_error_message(const kiln_error* error) {
  if (kiln_error_code(error) == KILN_ERROR_OUT_OF_MEMORY) return "there is no memory left";
  return error != nullptr ? error->error.message.c_str() : "";
}

const char* kiln_error_log(const kiln_error* error) {
  return error != nullptr ? error->error.log.c_str() : "";
}

int32_t kiln_error_vendor_code(const kiln_error* error) {
  return error != nullptr ? error->error.vendor_code : 0;
}

void kiln_error_free(kiln_error* error) {
  if (error != kiln::c_api::out_of_memory()) delete error;
}
