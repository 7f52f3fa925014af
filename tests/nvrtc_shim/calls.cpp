#include "calls.h"

#include KILN_TEST_NVRTC_H

#include "sides.h"

namespace kiln::test {
namespace KILN_TEST_SIDE_CALLS {
namespace {

using Size = nvrtcResult (*)(nvrtcProgram, std::size_t*);
using Copy = nvrtcResult (*)(nvrtcProgram, char*);

std::string read(nvrtcProgram program, Size size_of, Copy copy) {
  std::size_t size = 0;
  if (const auto result = size_of(program, &size); result != NVRTC_SUCCESS)
    return nvrtcGetErrorString(result);
  std::string bytes(size, '?');
  char nothing = 0;
  if (const auto result = copy(program, size == 0 ? &nothing : bytes.data());
      result != NVRTC_SUCCESS) {
    return nvrtcGetErrorString(result);
  }
  return bytes;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const auto& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace

Outcome compile(const Given& given) {
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto& [name, text] : given.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  Outcome outcome;
  nvrtcProgram program = nullptr;
  outcome.created = nvrtcCreateProgram(&program, given.source.c_str(), given.name.c_str(),
                                       static_cast<int>(names.size()), texts.data(), names.data());
  if (outcome.created != NVRTC_SUCCESS) return outcome;
  for (const auto& expression : given.expressions)
    nvrtcAddNameExpression(program, expression.c_str());
  const auto options = pointers_to(given.options);
  outcome.compiled = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  outcome.log = read(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog);
  for (const auto& expression : given.expressions) {
    const char* lowered = nullptr;
    const int result = nvrtcGetLoweredName(program, expression.c_str(), &lowered);
    outcome.lowered[expression] = {result, lowered == nullptr ? "" : lowered};
  }
  outcome.cubin = read(program, nvrtcGetCUBINSize, nvrtcGetCUBIN);
  outcome.ptx = read(program, nvrtcGetPTXSize, nvrtcGetPTX);
  outcome.ltoir = read(program, nvrtcGetLTOIRSize, nvrtcGetLTOIR);
  outcome.optixir = read(program, nvrtcGetOptiXIRSize, nvrtcGetOptiXIR);
  nvrtcDestroyProgram(&program);
  return outcome;
}

std::vector<std::string> answers() {
  int major = 0;
  int minor = 0;
  int count = 0;
  std::vector<std::string> all{
      "version: " + std::to_string(nvrtcVersion(&major, &minor)),
      std::to_string(major) + '.' + std::to_string(minor),
      "architectures: " + std::to_string(nvrtcGetNumSupportedArchs(&count))};
  std::vector<int> archs(static_cast<std::size_t>(count) + 1);
  all.push_back(std::to_string(nvrtcGetSupportedArchs(archs.data())));
  archs.pop_back();
  for (const int arch : archs) all.push_back(std::to_string(arch));
  for (int result = 0; result <= 17; ++result)
    all.emplace_back(nvrtcGetErrorString(static_cast<nvrtcResult>(result)));
  all.emplace_back(nvrtcGetErrorString(static_cast<nvrtcResult>(31)));
  return all;
}

}  // namespace KILN_TEST_SIDE_CALLS

const Side KILN_TEST_SIDE{&KILN_TEST_SIDE_CALLS::compile, &KILN_TEST_SIDE_CALLS::misuses,
                          &KILN_TEST_SIDE_CALLS::answers, &KILN_TEST_SIDE_CALLS::saxpy,
                          &KILN_TEST_SIDE_CALLS::raw_module};

}  // namespace kiln::test
