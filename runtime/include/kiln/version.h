#pragma once

// kiln/version.h: which kiln this is. C may include it for the macros.
//
//     static_assert(KILN_VERSION >= 100);  // of these headers: 0.1.0
//     std::puts(kiln::version());          // of the library that runs

#include "kiln/export.h"

/// Of these headers. CMake reads the version here, so that nothing else says it.
#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

/// The same as one number: 10000 * major + 100 * minor + patch.
#define KILN_VERSION (KILN_VERSION_MAJOR * 10000 + KILN_VERSION_MINOR * 100 + KILN_VERSION_PATCH)

#ifdef __cplusplus
namespace KILN_EXPORT kiln {

/// The library's own version, e.g. "0.1.0". Another one than the headers' where the library was built from others.
/// Static lifetime.
[[nodiscard]] const char* version() noexcept;

}  // namespace kiln
#endif
