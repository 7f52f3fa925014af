#pragma once

#include <string>

#include "c_api/c_api_handles.h"

namespace kiln::c_api {

// Behind the C API errors are exceptions, those of Result::value() and of refuse(), until guarded() makes
// objects of them.

[[noreturn]] void refuse(std::string message, ErrorCode code = ErrorCode::invalid_argument);

/// An error object for this error, with C's code for it.
[[nodiscard]] kiln_error error_of(const Error& error);

/// The exception that is being handled as an object of the caller's. REQUIRES: there is one.
[[nodiscard]] kiln_error* error_of_exception() noexcept;

/// Runs `body`, and gives what it throws as an object, NULL where it throws nothing.
template <class Body>
[[nodiscard]] kiln_error* guarded(const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return error_of_exception();
  }
}

}  // namespace kiln::c_api
