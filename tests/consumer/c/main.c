// An engine in C: opens a runtime and makes a program, which needs neither a compiler nor a driver.

#include <stdio.h>

#include <kiln/c_api.h>

static kiln_error* make(kiln_runtime** runtime, kiln_program** program) {
  const char* const kernel = "twice";
  const kiln_program_spec spec = {
      .size = sizeof(spec),
      .name = "twice.cu",
      .source = "extern \"C\" __global__ void twice(float* x) { *x *= 2; }",
      .kernels = &kernel,
      .kernel_count = 1,
  };
  kiln_error* error = kiln_runtime_open(NULL, runtime);
  return error ? error : kiln_program_make(&spec, program);
}

int main(void) {
  kiln_runtime* runtime = NULL;
  kiln_program* program = NULL;
  kiln_error* error = make(&runtime, &program);
  const int failed = error != NULL;
  printf("API version %u of %d: %s\n", (unsigned)kiln_api_version(), KILN_API_VERSION,
         failed ? kiln_error_message(error) : "made");
  kiln_error_free(error);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
  return failed;
}
