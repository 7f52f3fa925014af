// The real NVRTC as an older one, of CUDA 12: it tells the older version, lacks the functions that came later,
// and takes neither the options nor the architectures that did.
//
//   OLDER_NVRTC_MINOR  a macro: the version is 12.OLDER_NVRTC_MINOR
//   OLDER_NVRTC_REAL   in the environment: the real one's path

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <nvrtc.h>

namespace {

constexpr int own_minor = OLDER_NVRTC_MINOR;
constexpr int since_13 = 100;  // No minor of CUDA 12.

struct Option {
  std::string_view beginning;
  int since;
};

constexpr Option later_options[] = {
    {"-pch", 8}, {"--no-cache", 9}, {"-frandom-seed", 9}, {"-fdevice-time-trace", since_13}};

constexpr std::string_view arch_option = "--gpu-architecture=";

// With this one, as its libraries are by then whose imports kiln replaces.
void* const library = dlopen(std::getenv("OLDER_NVRTC_REAL"), RTLD_NOW | RTLD_LOCAL);

template <class Function>
Function* real(Function&, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define REAL(function) real(function, #function)

int since(int arch) {
  switch (arch) {
    case 100:
    case 101:
    case 120:
      return 8;
    case 103:
    case 121:
      return 9;
    case 88:
    case 110:
      return since_13;
    default:
      return 0;
  }
}

std::vector<int> known_archs() {
  int count = 0;
  REAL(nvrtcGetNumSupportedArchs)(&count);
  std::vector<int> archs(static_cast<std::size_t>(count));
  REAL(nvrtcGetSupportedArchs)(archs.data());
  std::erase_if(archs, [](int arch) { return since(arch) > own_minor; });
  return archs;
}

// One that came later is spelt such that the real one refuses it, in its own words.
std::string as_known(std::string option) {
  for (const auto& later : later_options) {
    if (option.starts_with(later.beginning) && later.since > own_minor) return "-later" + option;
  }
  if (option.starts_with(arch_option) && option.ends_with('f') && own_minor < 9)
    return option + "-later";
  return option;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = own_minor;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(known_archs().size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* archs) {
  for (const int arch : known_archs()) *archs++ = arch;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  std::vector<std::string> known;
  for (int index = 0; index < count; ++index) known.push_back(as_known(options[index]));
  std::vector<const char*> pointers;
  for (const auto& option : known) pointers.push_back(option.c_str());
  return REAL(nvrtcCompileProgram)(program, count, pointers.data());
}

#if OLDER_NVRTC_MINOR >= 8
nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program, int (*callback)(void*, void*),
                                 void* payload) {
  return REAL(nvrtcSetFlowCallback)(program, callback, payload);
}
#endif

// As they are.

const char* nvrtcGetErrorString(nvrtcResult result) { return REAL(nvrtcGetErrorString)(result); }

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name,
                               int count, const char* const* headers, const char* const* names) {
  return REAL(nvrtcCreateProgram)(program, source, name, count, headers, names);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  return REAL(nvrtcDestroyProgram)(program);
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  return REAL(nvrtcAddNameExpression)(program, expression);
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  return REAL(nvrtcGetLoweredName)(program, expression, name);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetProgramLogSize)(program, size);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return REAL(nvrtcGetProgramLog)(program, log);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetPTXSize)(program, size);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* image) {
  return REAL(nvrtcGetPTX)(program, image);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetCUBINSize)(program, size);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  return REAL(nvrtcGetCUBIN)(program, image);
}

nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetLTOIRSize)(program, size);
}

nvrtcResult nvrtcGetLTOIR(nvrtcProgram program, char* image) {
  return REAL(nvrtcGetLTOIR)(program, image);
}

nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram program, size_t* size) {
  return REAL(nvrtcGetOptiXIRSize)(program, size);
}

nvrtcResult nvrtcGetOptiXIR(nvrtcProgram program, char* image) {
  return REAL(nvrtcGetOptiXIR)(program, image);
}

}  // extern "C"
