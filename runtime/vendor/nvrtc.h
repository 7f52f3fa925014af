#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nvrtc.h>

#include "kiln/error.h"
#include "kiln/request.h"
#include "vendor/shared_library.h"

namespace kiln::vendor {

/// An NVRTC as it lies on disk, found without mapping any of it as code: enough to know whether an
/// entry was made by it, and where its toolkit's headers are.
struct NvrtcFiles {
  std::filesystem::path library;
  std::filesystem::path builtins;  ///< Empty when it is not beside the library.
  std::string origin;              ///< Where the idea came from, e.g. "KILN_NVRTC".
  Toolchain
      toolchain;  ///< By the build-ids of both files and any variable for the compiler that reaches it.
};

/// What the search came to: the files, or every place that was looked at.
struct NvrtcSearch {
  std::optional<NvrtcFiles> files;
  std::vector<SearchStep> steps;
};

/// Whether this process's variables for the compiler reach the compiler, and so its output: they do in this
/// process, and are cleared for a worker.
enum class NvrtcVariables { inherited, cleared };

/// Looks for NVRTC. `exact` goes alone, with no fallback.
[[nodiscard]] NvrtcSearch find_nvrtc(const std::optional<std::filesystem::path>& exact,
                                     NvrtcVariables variables = NvrtcVariables::inherited);

/// Whether this entry of an environment ("NAME=value") is one that NVRTC reads, or a part of it does: read off
/// what its libraries of 12.0 to 13.5 ask for, and of those what may change their output.
[[nodiscard]] bool is_compiler_variable(std::string_view entry);

/// Whether this process has any.
[[nodiscard]] bool has_compiler_variables();

/// The error for a search that found nothing.
[[nodiscard]] Error nvrtc_missing(const NvrtcSearch& search);

/// The toolkit's include directories that go with this NVRTC (or, where none was found, those of a
/// toolkit on this machine), CCCL's first. May be empty.
[[nodiscard]] std::vector<std::filesystem::path> toolkit_include_dirs(const NvrtcSearch& search);

/// NVRTC's functions. Types come from its header; the library stays loaded once opened.
struct Nvrtc {
  decltype(&::nvrtcVersion) version;
  decltype(&::nvrtcGetErrorString) get_error_string;
  decltype(&::nvrtcGetNumSupportedArchs) get_num_supported_archs;
  decltype(&::nvrtcGetSupportedArchs) get_supported_archs;
  decltype(&::nvrtcCreateProgram) create_program;
  decltype(&::nvrtcDestroyProgram) destroy_program;
  decltype(&::nvrtcAddNameExpression) add_name_expression;
  decltype(&::nvrtcCompileProgram) compile_program;
  decltype(&::nvrtcGetLoweredName) get_lowered_name;
  decltype(&::nvrtcGetProgramLogSize) get_program_log_size;
  decltype(&::nvrtcGetProgramLog) get_program_log;
  decltype(&::nvrtcGetPTXSize) get_ptx_size;
  decltype(&::nvrtcGetPTX) get_ptx;
  decltype(&::nvrtcGetCUBINSize) get_cubin_size;
  decltype(&::nvrtcGetCUBIN) get_cubin;
  decltype(&::nvrtcGetLTOIRSize) get_ltoir_size;
  decltype(&::nvrtcGetLTOIR) get_ltoir;
  decltype(&::nvrtcGetOptiXIRSize) get_optixir_size;
  decltype(&::nvrtcGetOptiXIR) get_optixir;
  decltype(&::nvrtcSetFlowCallback) set_flow_callback;         ///< Since 12.8; null before.
  decltype(&::nvrtcGetPCHHeapSize) get_precompiled_heap_size;  ///< Since 12.8; null before.
  decltype(&::nvrtcSetPCHHeapSize) set_precompiled_heap_size;  ///< Since 12.8; null before.

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

  /// Targets of a family, such as sm_100f, since 12.9.
  [[nodiscard]] bool has_family_targets() const noexcept { return has_own_cache(); }

  /// "NVRTC 13.0".
  [[nodiscard]] std::string text() const;

  /// Plain architectures it can compile for, e.g. {75, 80, …}.
  [[nodiscard]] std::vector<int> supported_archs() const;
};

/// Maps the library and its builtins. Errors: compiler_missing, with the loader's own words or the
/// name of the function that is not there.
[[nodiscard]] Result<Nvrtc> open_nvrtc(const NvrtcFiles& files);

}  // namespace kiln::vendor
