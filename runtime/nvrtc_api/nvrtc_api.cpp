#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/caller_state.h"
#include "kiln/nvrtc.h"
#include "nvrtc_api/shim_program.h"

// NOLINTBEGIN(readability-identifier-naming): the names are NVRTC's.
namespace kiln::nvrtc {

namespace {

using nvrtc_api::ShimProgram;

constexpr std::array result_names{"NVRTC_SUCCESS",
                                  "NVRTC_ERROR_OUT_OF_MEMORY",
                                  "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                  "NVRTC_ERROR_INVALID_INPUT",
                                  "NVRTC_ERROR_INVALID_PROGRAM",
                                  "NVRTC_ERROR_INVALID_OPTION",
                                  "NVRTC_ERROR_COMPILATION",
                                  "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                  "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                  "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                  "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                  "NVRTC_ERROR_INTERNAL_ERROR",
                                  "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
                                  "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED",
                                  "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED",
                                  "NVRTC_ERROR_PCH_CREATE",
                                  "NVRTC_ERROR_CANCELLED",
                                  "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED"};

// An architecture, and the versions of NVRTC that compile for it, as version() tells them.
struct Architecture {
  int number;
  int since;
  int until;
};

constexpr int still = 100'000;
constexpr std::array architectures{
    Architecture{50, 1200, 1300},   Architecture{52, 1200, 1300},   Architecture{53, 1200, 1300},
    Architecture{60, 1200, 1300},   Architecture{61, 1200, 1300},   Architecture{62, 1200, 1300},
    Architecture{70, 1200, 1300},   Architecture{72, 1200, 1300},   Architecture{75, 1200, still},
    Architecture{80, 1200, still},  Architecture{86, 1200, still},  Architecture{87, 1200, still},
    Architecture{88, 1300, still},  Architecture{89, 1200, still},  Architecture{90, 1200, still},
    Architecture{100, 1208, still}, Architecture{101, 1208, 1300},  Architecture{103, 1209, still},
    Architecture{107, 1304, still}, Architecture{110, 1300, still}, Architecture{120, 1208, still},
    Architecture{121, 1209, still}};

std::vector<int> supported_architectures() {
  std::vector<int> supported;
  const int version = nvrtc_api::version();
  for (const auto& [number, since, until] : architectures) {
    if (since <= version && version < until) supported.push_back(number);
  }
  return supported;
}

// Nothing is thrown over NVRTC's functions.
template <class Work>
nvrtcResult guarded(const Work& work) noexcept {
  try {
    const CallerState caller;
    return work();
  } catch (const std::bad_alloc&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
}

template <class Work>
nvrtcResult with(nvrtcProgram prog, bool has_arguments, const Work& work) noexcept {
  if (prog == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (!has_arguments) return NVRTC_ERROR_INVALID_INPUT;
  return guarded([&] { return work(*reinterpret_cast<ShimProgram*>(prog)); });
}

bool is_text(ImageKind kind) { return kind == ImageKind::ptx; }

nvrtcResult size_of_image(nvrtcProgram prog, ImageKind kind, std::size_t* size) noexcept {
  return with(prog, size != nullptr, [&](ShimProgram& program) {
    Bytes image;
    const auto result = program.find_image(kind, image);
    if (result == NVRTC_SUCCESS) *size = image.size() + (is_text(kind) ? 1 : 0);
    return result;
  });
}

nvrtcResult copy_image(nvrtcProgram prog, ImageKind kind, char* to) noexcept {
  return with(prog, to != nullptr, [&](ShimProgram& program) {
    Bytes image;
    const auto result = program.find_image(kind, image);
    // A zero byte follows the last one.
    if (result == NVRTC_SUCCESS)
      std::memcpy(to, image.data(), image.size() + (is_text(kind) ? 1 : 0));
    return result;
  });
}

}  // namespace

const char* nvrtcGetErrorString(nvrtcResult result) noexcept {
  const auto number = static_cast<std::size_t>(result);
  return number < result_names.size() ? result_names[number] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcVersion(int* major, int* minor) noexcept {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  return guarded([&] {
    const int version = nvrtc_api::version();
    if (version == 0) return NVRTC_ERROR_INTERNAL_ERROR;
    *major = version / 100;
    *minor = version % 100;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetNumSupportedArchs(int* numArchs) noexcept {
  if (numArchs == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  return guarded([&] {
    const auto supported = supported_architectures();
    if (supported.empty()) return NVRTC_ERROR_INTERNAL_ERROR;
    *numArchs = static_cast<int>(supported.size());
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetSupportedArchs(int* supportedArchs) noexcept {
  if (supportedArchs == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  return guarded([&] {
    const auto supported = supported_architectures();
    std::ranges::copy(supported, supportedArchs);
    return supported.empty() ? NVRTC_ERROR_INTERNAL_ERROR : NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* prog, const char* src, const char* name,
                               int numHeaders, const char* const* headers,
                               const char* const* includeNames) noexcept {
  if (prog == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (src == nullptr || numHeaders < 0 ||
      (numHeaders > 0 && (headers == nullptr || includeNames == nullptr)))
    return NVRTC_ERROR_INVALID_INPUT;
  return guarded([&] {
    std::vector<HeaderSet::NamedText> texts;
    std::set<std::string_view> names;
    for (int header = 0; header < numHeaders; ++header) {
      if (headers[header] == nullptr || includeNames[header] == nullptr ||
          !names.insert(includeNames[header]).second) {
        return NVRTC_ERROR_INVALID_INPUT;
      }
      texts.push_back({includeNames[header], headers[header]});
    }
    const bool unnamed = name == nullptr || *name == '\0';
    auto program = std::make_unique<ShimProgram>(unnamed ? "default_program" : name, src,
                                                 HeaderSet::from_texts(std::move(texts)));
    *prog = reinterpret_cast<nvrtcProgram>(program.release());
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* prog) noexcept {
  if (prog == nullptr || *prog == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete reinterpret_cast<ShimProgram*>(*prog);
  *prog = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram prog, const char* name_expression) noexcept {
  return with(prog, name_expression != nullptr,
              [&](ShimProgram& program) { return program.add_expression(name_expression); });
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions,
                                const char* const* options) noexcept {
  return with(prog, numOptions >= 0, [&](ShimProgram& program) {
    if (numOptions > 0 && options == nullptr) return NVRTC_ERROR_INVALID_OPTION;
    return program.compile({options, static_cast<std::size_t>(numOptions)});
  });
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram prog, const char* name_expression,
                                const char** lowered_name) noexcept {
  return with(prog, name_expression != nullptr && lowered_name != nullptr,
              [&](ShimProgram& program) {
                *lowered_name = nullptr;
                return program.find_lowered_name(name_expression, *lowered_name);
              });
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram prog, std::size_t* ptxSizeRet) noexcept {
  return size_of_image(prog, ImageKind::ptx, ptxSizeRet);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram prog, char* ptx) noexcept {
  return copy_image(prog, ImageKind::ptx, ptx);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, std::size_t* cubinSizeRet) noexcept {
  return size_of_image(prog, ImageKind::cubin, cubinSizeRet);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char* cubin) noexcept {
  return copy_image(prog, ImageKind::cubin, cubin);
}
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram prog, std::size_t* LTOIRSizeRet) noexcept {
  return size_of_image(prog, ImageKind::ltoir, LTOIRSizeRet);
}
nvrtcResult nvrtcGetLTOIR(nvrtcProgram prog, char* LTOIR) noexcept {
  return copy_image(prog, ImageKind::ltoir, LTOIR);
}
nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram prog, std::size_t* optixirSizeRet) noexcept {
  return size_of_image(prog, ImageKind::optixir, optixirSizeRet);
}
nvrtcResult nvrtcGetOptiXIR(nvrtcProgram prog, char* optixir) noexcept {
  return copy_image(prog, ImageKind::optixir, optixir);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, std::size_t* logSizeRet) noexcept {
  return with(prog, logSizeRet != nullptr, [&](ShimProgram& program) {
    *logSizeRet = program.log().size() + 1;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char* log) noexcept {
  return with(prog, log != nullptr, [&](ShimProgram& program) {
    const auto text = program.log();
    std::memcpy(log, text.c_str(), text.size() + 1);
    return NVRTC_SUCCESS;
  });
}

}  // namespace kiln::nvrtc
// NOLINTEND(readability-identifier-naming)
