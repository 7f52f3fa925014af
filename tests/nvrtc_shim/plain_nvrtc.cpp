// NVRTC's own functions, for what is compiled with its own header: those of the library that kiln finds, opened by the first
// call.

#include <nvrtc.h>

#include "support/nvrtc.h"
#include "vendor/nvrtc.h"

namespace {

const kiln::vendor::Nvrtc& real() {
  static const auto nvrtc =
      kiln::vendor::Nvrtc::open(kiln::vendor::find_nvrtc(kiln::test::wanted_nvrtc())).value();
  return nvrtc;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) { return real().get_error_string(result); }
nvrtcResult nvrtcVersion(int* major, int* minor) { return real().version(major, minor); }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) { return real().get_num_supported_archs(count); }
nvrtcResult nvrtcGetSupportedArchs(int* archs) { return real().get_supported_archs(archs); }
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name,
                               int count, const char* const* headers, const char* const* names) {
  return real().create_program(program, source, name, count, headers, names);
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) { return real().destroy_program(program); }
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* const expression) {
  return real().add_name_expression(program, expression);
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  return real().compile_program(program, count, options);
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* const expression,
                                const char** lowered) {
  return real().get_lowered_name(program, expression, lowered);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  return real().get_program_log_size(program, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return real().get_program_log(program, log);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, std::size_t* size) {
  return real().get_ptx_size(program, size);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) { return real().get_ptx(program, ptx); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  return real().get_cubin_size(program, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  return real().get_cubin(program, cubin);
}
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram program, std::size_t* size) {
  return real().get_ltoir_size(program, size);
}
nvrtcResult nvrtcGetLTOIR(nvrtcProgram program, char* ltoir) {
  return real().get_ltoir(program, ltoir);
}
nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram program, std::size_t* size) {
  return real().get_optixir_size(program, size);
}
nvrtcResult nvrtcGetOptiXIR(nvrtcProgram program, char* optixir) {
  return real().get_optixir(program, optixir);
}

}  // extern "C"
