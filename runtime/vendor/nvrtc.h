#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nvrtc.h>

#include "kiln/error.h"
#include "vendor/function_table.h"
#include "vendor/library_search.h"

// What kiln calls of NVRTC. The optional ones came with 12.8, and are null before.
#define KILN_NVRTC_FUNCTIONS(X)                                   \
  X(version, nvrtcVersion, required)                              \
  X(get_error_string, nvrtcGetErrorString, required)              \
  X(get_num_supported_archs, nvrtcGetNumSupportedArchs, required) \
  X(get_supported_archs, nvrtcGetSupportedArchs, required)        \
  X(create_program, nvrtcCreateProgram, required)                 \
  X(destroy_program, nvrtcDestroyProgram, required)               \
  X(add_name_expression, nvrtcAddNameExpression, required)        \
  X(compile_program, nvrtcCompileProgram, required)               \
  X(get_lowered_name, nvrtcGetLoweredName, required)              \
  X(get_program_log_size, nvrtcGetProgramLogSize, required)       \
  X(get_program_log, nvrtcGetProgramLog, required)                \
  X(get_ptx_size, nvrtcGetPTXSize, required)                      \
  X(get_ptx, nvrtcGetPTX, required)                               \
  X(get_cubin_size, nvrtcGetCUBINSize, required)                  \
  X(get_cubin, nvrtcGetCUBIN, required)                           \
  X(get_ltoir_size, nvrtcGetLTOIRSize, required)                  \
  X(get_ltoir, nvrtcGetLTOIR, required)                           \
  X(get_optixir_size, nvrtcGetOptiXIRSize, required)              \
  X(get_optixir, nvrtcGetOptiXIR, required)                       \
  X(set_flow_callback, nvrtcSetFlowCallback, optional)            \
  X(get_precompiled_heap_size, nvrtcGetPCHHeapSize, optional)     \
  X(set_precompiled_heap_size, nvrtcSetPCHHeapSize, optional)

namespace kiln::vendor {

/// Whether this process's variables for the compiler reach it, and so its output. They do where this process
/// compiles; for a worker they are cleared.
enum class NvrtcVariables { inherited, cleared };

/// Looks for NVRTC. `exact` goes alone, with no fallback.
[[nodiscard]] LibrarySearch find_nvrtc(const std::optional<std::filesystem::path>& exact,
                                       NvrtcVariables variables = NvrtcVariables::inherited);

/// Whether NVRTC, or a part of it, reads this entry of an environment ("NAME=value") and may give another
/// output for it. The names are those that the libraries of 12.0 to 13.5 ask for.
[[nodiscard]] bool is_compiler_variable(std::string_view entry);

/// Whether this process has any.
[[nodiscard]] bool has_compiler_variables();

/// NVRTC as it is named and packed.
[[nodiscard]] const WantedLibrary& wanted_nvrtc() noexcept;

/// The toolkit's include directories that go with this NVRTC (or, where none was found, those of a
/// toolkit on this machine), CCCL's first. May be empty.
[[nodiscard]] std::vector<std::filesystem::path> toolkit_include_dirs(const LibrarySearch& search);

/// NVRTC's functions. Types come from its header; the library stays loaded once opened.
struct Nvrtc {
  /// Maps the library and its builtins. Errors: compiler_missing, with the loader's own words or the
  /// name of the function that is not there.
  [[nodiscard]] static Result<Nvrtc> open(const LibrarySearch& search);

  KILN_NVRTC_FUNCTIONS(KILN_FUNCTION_MEMBER)

  int major = 0;
  int minor = 0;

  /// NVRTC has a cache of its own since 12.9, and the option that turns it off.
  [[nodiscard]] bool has_own_cache() const noexcept {
    return major > 12 || (major == 12 && minor >= 9);
  }

  /// `-frandom-seed`, since 12.9: with it what is in an anonymous namespace has the same symbol each time.
  [[nodiscard]] bool has_random_seed() const noexcept { return has_own_cache(); }

  /// `-pch`, since 12.8.
  [[nodiscard]] bool has_precompiled_headers() const noexcept {
    return major > 12 || (major == 12 && minor >= 8);
  }

  /// `-fdevice-time-trace`, since 12.8 (12.6 refuses its own file); the headers are in it since 13.0.
  [[nodiscard]] bool has_time_trace() const noexcept { return has_precompiled_headers(); }

  /// Targets of a family, such as sm_100f, since 12.9.
  [[nodiscard]] bool has_family_targets() const noexcept { return has_own_cache(); }

  /// "NVRTC 13.0".
  [[nodiscard]] std::string text() const;

  /// Plain architectures it can compile for, e.g. {75, 80, …}.
  [[nodiscard]] std::vector<int> supported_archs() const;
};

}  // namespace kiln::vendor
