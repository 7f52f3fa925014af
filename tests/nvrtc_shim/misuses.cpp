#include <array>
#include <string>
#include <vector>

#include KILN_TEST_NVRTC_H

#include "sides.h"

#define KILN_TEST_MISUSE(call) all.emplace_back(#call, static_cast<int>(call))

namespace kiln::test::KILN_TEST_SIDE_CALLS {
namespace {

constexpr const char* source =
    "template <class T> __global__ void set(T* x) { *x = 1; }\n"
    "__constant__ int limit;\n";

std::vector<Misuse> all;

void without_program() {
  nvrtcProgram none = nullptr;
  std::size_t size = 0;
  char text = 0;
  const char* name = nullptr;
  int number = 0;
  KILN_TEST_MISUSE(nvrtcVersion(nullptr, &number));
  KILN_TEST_MISUSE(nvrtcVersion(&number, nullptr));
  KILN_TEST_MISUSE(nvrtcGetNumSupportedArchs(nullptr));
  KILN_TEST_MISUSE(nvrtcGetSupportedArchs(nullptr));
  KILN_TEST_MISUSE(nvrtcDestroyProgram(nullptr));
  KILN_TEST_MISUSE(nvrtcDestroyProgram(&none));
  KILN_TEST_MISUSE(nvrtcAddNameExpression(none, "set<int>"));
  KILN_TEST_MISUSE(nvrtcCompileProgram(none, 0, nullptr));
  KILN_TEST_MISUSE(nvrtcCompileProgram(none, -1, nullptr));
  KILN_TEST_MISUSE(nvrtcGetPTXSize(none, &size));
  KILN_TEST_MISUSE(nvrtcGetPTX(none, &text));
  KILN_TEST_MISUSE(nvrtcGetCUBINSize(none, nullptr));
  KILN_TEST_MISUSE(nvrtcGetLTOIRSize(none, &size));
  KILN_TEST_MISUSE(nvrtcGetOptiXIR(none, &text));
  KILN_TEST_MISUSE(nvrtcGetProgramLogSize(none, &size));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(none, "set<int>", &name));
}

void creation() {
  nvrtcProgram program = nullptr;
  const std::array<const char*, 2> texts{"", ""};
  const std::array<const char*, 2> names{"a.h", "a.h"};
  const std::array<const char*, 2> nulls{};
  KILN_TEST_MISUSE(nvrtcCreateProgram(nullptr, source, "a.cu", 0, nullptr, nullptr));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, nullptr, "a.cu", 0, nullptr, nullptr));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, "a.cu", -1, nullptr, nullptr));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, "a.cu", 1, nullptr, names.data()));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, "a.cu", 1, texts.data(), nullptr));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, "a.cu", 1, nulls.data(), names.data()));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, "a.cu", 1, texts.data(), nulls.data()));
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, "a.cu", 2, texts.data(), names.data()));
}

void nulls_for(nvrtcProgram program) {
  const char* name = nullptr;
  KILN_TEST_MISUSE(nvrtcAddNameExpression(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, nullptr, &name));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "set<int>", nullptr));
  KILN_TEST_MISUSE(nvrtcGetPTXSize(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetPTX(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetCUBINSize(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetCUBIN(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetLTOIR(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetOptiXIRSize(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetProgramLogSize(program, nullptr));
  KILN_TEST_MISUSE(nvrtcGetProgramLog(program, nullptr));
}

// What each of these gives where there is nothing to give: size and first byte.
void nothing_of(nvrtcProgram program) {
  std::size_t size = 77;
  char text = 'z';
  KILN_TEST_MISUSE(nvrtcGetPTXSize(program, &size));
  KILN_TEST_MISUSE(size);
  KILN_TEST_MISUSE(nvrtcGetPTX(program, &text));
  KILN_TEST_MISUSE(text);
  KILN_TEST_MISUSE(nvrtcGetCUBINSize(program, &size));
  KILN_TEST_MISUSE(size);
  KILN_TEST_MISUSE(nvrtcGetCUBIN(program, &text));
  KILN_TEST_MISUSE(nvrtcGetLTOIRSize(program, &size));
  KILN_TEST_MISUSE(size);
  KILN_TEST_MISUSE(nvrtcGetOptiXIRSize(program, &size));
  KILN_TEST_MISUSE(size);
}

void order_of_calls() {
  const std::array<const char*, 2> options{"--gpu-architecture=sm_80", "--no-such-option"};
  const std::array<const char*, 1> null_option{};
  const char none = 0;
  const char* name = &none;
  std::size_t size = 0;
  nvrtcProgram program = nullptr;
  KILN_TEST_MISUSE(nvrtcCreateProgram(&program, source, nullptr, 0, nullptr, nullptr));
  nulls_for(program);
  nothing_of(program);
  KILN_TEST_MISUSE(nvrtcGetProgramLogSize(program, &size));
  KILN_TEST_MISUSE(size);
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "set<int>", &name));
  KILN_TEST_MISUSE(name == nullptr);
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, -1, options.data()));
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 1, nullptr));
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 1, null_option.data()));
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 2, options.data()));
  nothing_of(program);
  KILN_TEST_MISUSE(nvrtcAddNameExpression(program, "set<int>"));
  KILN_TEST_MISUSE(nvrtcAddNameExpression(program, " set< int >"));
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 1, options.data()));
  nulls_for(program);
  KILN_TEST_MISUSE(nvrtcAddNameExpression(program, "set<float>"));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "set<int>", &name));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, " set< int >", &name));
  for (const auto* unknown : {"set<float>", "set< int>", "limit", ""}) {
    KILN_TEST_MISUSE(nvrtcGetLoweredName(program, unknown, &name));
    KILN_TEST_MISUSE(name == nullptr);
  }
  // A compile that fails later takes the images, and leaves the names.
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 2, options.data()));
  KILN_TEST_MISUSE(nvrtcGetPTXSize(program, &size));
  KILN_TEST_MISUSE(size);
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "set<int>", &name));
  KILN_TEST_MISUSE(nvrtcAddNameExpression(program, "set<char>"));
  KILN_TEST_MISUSE(nvrtcDestroyProgram(&program));
  KILN_TEST_MISUSE(program == nullptr);
}

void failed_compile() {
  const char* name = nullptr;
  nvrtcProgram program = nullptr;
  nvrtcCreateProgram(&program, "__global__ void broken( {", "a.cu", 0, nullptr, nullptr);
  nvrtcAddNameExpression(program, "broken");
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 0, nullptr));
  KILN_TEST_MISUSE(nvrtcAddNameExpression(program, "other"));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "broken", &name));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "other", &name));
  nothing_of(program);
  nvrtcDestroyProgram(&program);
}

void unnamed_program() {
  const char* name = nullptr;
  nvrtcProgram program = nullptr;
  nvrtcCreateProgram(&program, source, "", 0, nullptr, nullptr);
  KILN_TEST_MISUSE(nvrtcCompileProgram(program, 0, nullptr));
  KILN_TEST_MISUSE(nvrtcGetLoweredName(program, "limit", &name));
  nvrtcDestroyProgram(&program);
}

}  // namespace

std::vector<Misuse> misuses() {
  all.clear();
  without_program();
  creation();
  order_of_calls();
  failed_compile();
  unnamed_program();
  return all;
}

}  // namespace kiln::test::KILN_TEST_SIDE_CALLS
