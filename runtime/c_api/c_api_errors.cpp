#include "c_api/c_api_errors.h"

#include <cstddef>
#include <exception>
#include <new>
#include <utility>

#include "c_api/c_api_values.h"

namespace kiln::c_api {
namespace {

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

kiln_error error_of(const Error& error) { return {1 + number_of(error_codes, error.code), error}; }

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
  // The only one of its code is static, in this library or in the other that has these functions.
  if (kiln_error_code(error) != KILN_ERROR_OUT_OF_MEMORY) delete error;
}
