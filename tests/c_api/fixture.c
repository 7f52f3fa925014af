#include "fixture.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

const char* const scale_expression = "engine::scale<float, 2>";

static char scratch[4096];

static int remove_one(const char* path, const struct stat* status, int type, struct FTW* place) {
  (void)status, (void)type, (void)place;
  return remove(path);
}

static void remove_scratch(void) { nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

const char* cache_directory(void) {
  if (scratch[0] != 0) return scratch;
  const char* folder = getenv("TMPDIR");
  snprintf(scratch, sizeof(scratch), "%s/kiln-test-XXXXXX", folder != NULL ? folder : "/tmp");
  CHECK(mkdtemp(scratch) != NULL);
  atexit(remove_scratch);
  return scratch;
}

kiln_runtime* open_runtime(void) {
  const kiln_runtime_options options = {.size = sizeof(options),
                                        .cache_directory = cache_directory(),
                                        .cuda_driver = KILN_FAKE_CUDA,
                                        .log_level = KILN_LOG_OFF};
  kiln_runtime* runtime = NULL;
  SUCCEED(kiln_runtime_open(&options, &runtime));
  return runtime;
}

kiln_program* make_program(const char* source, const char* kernel) {
  const kiln_header_set* const headers[] = {kiln_device_headers()};
  const kiln_program_spec spec = {.size = sizeof(spec),
                                  .name = "test.cu",
                                  .source = source,
                                  .headers = headers,
                                  .header_count = 1,
                                  .kernels = &kernel,
                                  .kernel_count = 1};
  kiln_program* program = NULL;
  SUCCEED(kiln_program_make(&spec, &program));
  return program;
}

kiln_program* make_scale_program(void) {
  const char* const source =
      "#include <engine/factor.cuh>\n"
      "#include <kiln/vec.cuh>\n"
      "namespace engine {\n"
      "template <class T, int N> __global__ void scale(T* x, T by) {\n"
      "  x[threadIdx.x] *= by * N * FACTOR;\n"
      "}\n"
      "}\n";
  const kiln_header header = {"engine/factor.cuh", "constexpr float FACTOR = OPTION;"};
  const char* const options[] = {"--std=c++20", "-DOPTION=3"};
  kiln_header_set* own = NULL;
  SUCCEED(kiln_header_set_make(&header, 1, &own));
  const kiln_header_set* const headers[] = {kiln_device_headers(), own};
  const kiln_program_spec spec = {.size = sizeof(spec),
                                  .name = "scale.cu",
                                  .source = source,
                                  .headers = headers,
                                  .header_count = 2,
                                  .kernels = &scale_expression,
                                  .kernel_count = 1,
                                  .options = options,
                                  .option_count = 2};
  kiln_program* program = NULL;
  SUCCEED(kiln_program_make(&spec, &program));
  kiln_header_set_free(own);
  return program;
}

kiln_artifact* compile_scale(kiln_runtime* runtime) {
  kiln_program* program = make_scale_program();
  kiln_artifact* artifact = NULL;
  SUCCEED(kiln_runtime_compile(runtime, program, "sm_80", KILN_IMAGE_CUBIN, &artifact));
  kiln_program_free(program);
  return artifact;
}

kiln_origin origin_of(const kiln_artifact* artifact) {
  kiln_artifact_info info = {.size = sizeof(info)};
  SUCCEED(kiln_artifact_get_info(artifact, &info));
  return info.origin;
}

void* fake_driver_symbol(const char* name) {
  void* library = dlopen(KILN_FAKE_CUDA, RTLD_NOW);
  CHECK(library != NULL);
  void* symbol = dlsym(library, name);
  CHECK(symbol != NULL);
  return symbol;
}
