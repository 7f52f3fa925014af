#pragma once

// kiln/nvrtc.h: NVRTC's functions, answered from kiln's cache: include it in the place of <nvrtc.h>, and link kiln.
//
//     nvrtcProgram one = nullptr;
//     nvrtcCreateProgram(&one, "extern \"C\" __global__ void f(int* x) { *x = 1; }", "one.cu", 0, nullptr, nullptr);
//     const char* const option = "--gpu-architecture=sm_90a";
//     if (nvrtcCompileProgram(one, 1, &option) != NVRTC_SUCCESS) std::puts("its log says why");
//     nvrtcDestroyProgram(&one);
//
// For a program that was written for NVRTC. kiln.h does not include it. Each function does what nvrtc.h says of it, with the
// same results, but for this:
//
// - One Runtime of the process, with the settings of the environment, does the work. The first call that needs it opens it;
//   a child that was forked later must not use it. What only kiln can say (no compiler, a setting that makes no sense, nothing
//   stored in the mode cache-only) is NVRTC_ERROR_INTERNAL_ERROR, and the log says why.
// - A compile for sm_XX gives the cubin. Its PTX is looked up, or compiled, when it is first asked for. A program that is
//   compiled again has the images of its last compile alone.
// - `__FILE__` and line information say "/kiln/" before the program's name; the log does not. LTO-IR and OptiX-IR are those of a
//   process that stands in "/". kiln chooses the seed of symbols
//   and whether headers are precompiled: options that do so count for nothing. Those that write files are
//   NVRTC_ERROR_INVALID_OPTION.
// - Where a directive quotes a file of the folder of the program's name, `#include <…>` searches that folder too, first.
// - nvrtcVersion() and the architectures follow from the names of NVRTC's files. They load nothing, and are
//   NVRTC_ERROR_INTERNAL_ERROR where there is no NVRTC. Of a later NVRTC than kiln knows the architectures are those it knows.
// - There are no functions for precompiled headers, and none to stop a compile.

#include <cstddef>
#include <cstdlib>

#include "kiln/export.h"

#if NVRTC_GET_TYPE_NAME
#include <cxxabi.h>

#include <string>
#include <typeinfo>
#endif

#ifdef __NVRTC_H__
#error "include <kiln/nvrtc.h> in the place of <nvrtc.h>, not beside it"
#endif
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are NVRTC's.
#define __NVRTC_H__  // Whoever includes <nvrtc.h> later gets nothing more.

enum nvrtcResult {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
  NVRTC_ERROR_TIME_FILE_WRITE_FAILED = 12,
  NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED = 13,
  NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED = 14,
  NVRTC_ERROR_PCH_CREATE = 15,
  NVRTC_ERROR_CANCELLED = 16,
  NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED = 17
};

using nvrtcProgram = struct _nvrtcProgram*;

// In a namespace and with names of C++, so that no library that is linked with NVRTC itself takes them for NVRTC's.
namespace KILN_EXPORT kiln {
namespace nvrtc {

/// The result's name, e.g. "NVRTC_SUCCESS". Static lifetime.
const char* nvrtcGetErrorString(nvrtcResult result) noexcept;
nvrtcResult nvrtcVersion(int* major, int* minor) noexcept;
nvrtcResult nvrtcGetNumSupportedArchs(int* numArchs) noexcept;
nvrtcResult nvrtcGetSupportedArchs(int* supportedArchs) noexcept;

/// Copies what it is given. Programs are independent of one another; one may be used by several threads, in turn.
nvrtcResult nvrtcCreateProgram(nvrtcProgram* prog, const char* src, const char* name,
                               int numHeaders, const char* const* headers,
                               const char* const* includeNames) noexcept;
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* prog) noexcept;
nvrtcResult nvrtcAddNameExpression(nvrtcProgram prog, const char* name_expression) noexcept;
nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions,
                                const char* const* options) noexcept;
/// The name is valid as long as the program.
nvrtcResult nvrtcGetLoweredName(nvrtcProgram prog, const char* name_expression,
                                const char** lowered_name) noexcept;

// A size is 0 where the last compile gave no such image; of texts it counts the zero byte behind them.
nvrtcResult nvrtcGetPTXSize(nvrtcProgram prog, std::size_t* ptxSizeRet) noexcept;
nvrtcResult nvrtcGetPTX(nvrtcProgram prog, char* ptx) noexcept;
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, std::size_t* cubinSizeRet) noexcept;
nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char* cubin) noexcept;
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram prog, std::size_t* LTOIRSizeRet) noexcept;
nvrtcResult nvrtcGetLTOIR(nvrtcProgram prog, char* LTOIR) noexcept;
nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram prog, std::size_t* optixirSizeRet) noexcept;
nvrtcResult nvrtcGetOptiXIR(nvrtcProgram prog, char* optixir) noexcept;
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, std::size_t* logSizeRet) noexcept;
nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char* log) noexcept;

}  // namespace nvrtc
}  // namespace kiln

using namespace kiln::nvrtc;  // NOLINT(google-global-names-in-headers): as in nvrtc.h.

#if NVRTC_GET_TYPE_NAME
namespace kiln::detail {
template <class T>
struct NamedType {};
}  // namespace kiln::detail

/// The type as the source may spell it.
inline nvrtcResult nvrtcGetTypeName(const std::type_info& type, std::string* result) {
  int status = 0;
  char* const name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  if (name != nullptr) result->assign(name);
  std::free(name);
  return status == 0 ? NVRTC_SUCCESS : NVRTC_ERROR_INTERNAL_ERROR;
}

/// The same of T, which may be a reference and `const`.
template <class T>
nvrtcResult nvrtcGetTypeName(std::string* result) {
  const auto named = nvrtcGetTypeName(typeid(kiln::detail::NamedType<T>), result);
  if (named != NVRTC_SUCCESS) return named;
  const auto begin = result->find('<') + 1;
  *result = result->substr(begin, result->rfind('>') - begin);
  return named;
}
#endif
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
