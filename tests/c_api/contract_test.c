// What holds for every function: errors as objects, nulls and numbers that are refused, structures of other
// versions, no memory.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "fixture.h"
#include "kiln/c_api.h"
#include "tests.h"

void test_version(void) {
  CHECK(kiln_api_version() == KILN_API_VERSION);
  CHECK(kiln_error_code(NULL) == KILN_OK);
  CHECK_TEXT(kiln_error_code_name(NULL), "ok");
  CHECK_TEXT(kiln_error_message(NULL), "");
  CHECK_TEXT(kiln_error_log(NULL), "");
  CHECK(kiln_error_vendor_code(NULL) == 0);
}

void test_nothing_is_freed(void) {
  kiln_error_free(NULL);
  kiln_header_set_free(NULL);
  kiln_program_free(NULL);
  kiln_runtime_close(NULL);
  kiln_availability_free(NULL);
  kiln_remotes_free(NULL);
  kiln_artifact_free(NULL);
  kiln_explanation_free(NULL);
  kiln_compiling_free(NULL);
  kiln_kernel_free(NULL);
  kiln_module_free(NULL);
}

void test_refuses_null(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_artifact* artifact = NULL;
  const kiln_code invalid = KILN_ERROR_INVALID_ARGUMENT;
  FAIL(kiln_runtime_open(NULL, NULL), invalid, "'runtime' is null");
  FAIL(kiln_program_make(NULL, &program), invalid, "'spec' is null");
  FAIL(kiln_runtime_compile(NULL, program, "sm_80", 0, &artifact), invalid, "'runtime' is null");
  FAIL(kiln_runtime_compile(runtime, NULL, "sm_80", 0, &artifact), invalid, "'program' is null");
  FAIL(kiln_runtime_compile(runtime, program, NULL, 0, &artifact), invalid, "'arch' is null");
  FAIL(kiln_runtime_compile(runtime, program, "sm_80", 0, NULL), invalid, "'artifact' is null");
  FAIL(kiln_runtime_kernel(runtime, program, NULL, NULL), invalid, "'kernel' is null");
  FAIL(kiln_artifact_get_info(NULL, NULL), invalid, "'artifact' is null");
  FAIL(kiln_kernel_launch(NULL, NULL, NULL, NULL, 0), invalid, "'kernel' is null");
  FAIL(kiln_header_set_make(NULL, 2, NULL), invalid, "'set' is null");
  CHECK(artifact == NULL);

  const char* const options[] = {"--std=c++20", NULL};
  kiln_program_spec spec = {.size = sizeof(spec), .source = "", .options = options};
  FAIL(kiln_program_make(&spec, &program), invalid, "'name' is null");
  spec.name = "test.cu";
  spec.option_count = 2;
  FAIL(kiln_program_make(&spec, &program), invalid, "'options' is null");
  spec.option_count = 0;
  spec.kernel_count = 3;
  FAIL(kiln_program_make(&spec, &program), invalid, "'kernels' is null");
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

void test_refuses_numbers(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_artifact* artifact = NULL;
  kiln_availability* availability = NULL;
  const kiln_code invalid = KILN_ERROR_INVALID_ARGUMENT;
  FAIL(kiln_runtime_compile(runtime, program, "sm_80", 5, &artifact), invalid, "'kind' is 5");
  FAIL(kiln_runtime_compile(runtime, program, "sm_80", -1, &artifact), invalid, "'kind' is -1");
  FAIL(kiln_runtime_set_mode(runtime, KILN_MODE_UNSET), invalid, "'mode' is 0");
  FAIL(kiln_runtime_availability(runtime, 9, &availability), invalid, "'tool' is 9");
  const kiln_runtime_options options = {.size = sizeof(options), .cache_disabled = INT32_MIN};
  FAIL(kiln_runtime_open(&options, &runtime), invalid, "'cache_disabled' is -2147483648");
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

void test_refuses_sizes(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_counters counters = {.size = 0};
  const kiln_code invalid = KILN_ERROR_INVALID_ARGUMENT;
  FAIL(kiln_runtime_get_counters(runtime, &counters), invalid, "the size of 'counters' is 0");
  counters.size = SIZE_MAX;
  FAIL(kiln_runtime_get_counters(runtime, &counters), invalid, "set it to sizeof");
  const kiln_runtime_options options = {.size = 3};
  FAIL(kiln_runtime_open(&options, &runtime), invalid, "the size of 'options' is 3");
  kiln_runtime_close(runtime);
}

/// Callers that were built with another version of the header.
void test_takes_older_and_newer_structures(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_artifact_free(compile_scale(runtime));

  kiln_counters older = {.size = offsetof(kiln_counters, compiles), .compiles = 77};
  SUCCEED(kiln_runtime_get_counters(runtime, &older));
  CHECK(older.misses == 1 && older.compiles == 77);

  struct {
    kiln_counters known;
    uint64_t unknown;
  } newer = {{.size = sizeof(newer)}, 77};
  SUCCEED(kiln_runtime_get_counters(runtime, &newer.known));
  CHECK(newer.known.compiles == 1 && newer.unknown == 0);
  kiln_runtime_close(runtime);

  struct {
    kiln_runtime_options known;
    uint64_t unknown;
  } options = {{.size = sizeof(options), .cache_disabled = KILN_SWITCH_ON}, 0};
  SUCCEED(kiln_runtime_open(&options.known, &runtime));
  kiln_runtime_close(runtime);
  options.unknown = 1;
  FAIL(kiln_runtime_open(&options.known, &runtime), KILN_ERROR_INVALID_ARGUMENT,
       "'options' has a field set that this library, of API version 6, does not know");
}

static kiln_error* compile_for(const char* source, const char* kernel, const char* arch) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_program(source, kernel);
  kiln_artifact* artifact = NULL;
  kiln_error* error = kiln_runtime_compile(runtime, program, arch, KILN_IMAGE_CUBIN, &artifact);
  CHECK(artifact == NULL);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
  return error;
}

void test_tells_of_failures(void) {
  const char* const sound = "extern \"C\" __global__ void k() {}";
  FAIL(compile_for(sound, "k", "sm_9x"), KILN_ERROR_UNKNOWN_ARCH, "sm_9x");
  FAIL(compile_for(sound, "k", "compute_80"), KILN_ERROR_INVALID_ARGUMENT, "compute_80");
  FAIL(compile_for(sound, "other", "sm_80"), KILN_ERROR_UNKNOWN_KERNEL, "other");
  FAIL(compile_for("#include <engine/none.h>", "k", "sm_80"), KILN_ERROR_HEADER_NOT_FOUND,
       "engine/none.h");

  kiln_error* error = compile_for("__global__ void k() { undeclared(); }", "k", "sm_80");
  CHECK(kiln_error_code(error) == KILN_ERROR_COMPILE_FAILED);
  CHECK_TEXT(kiln_error_code_name(error), "compile_failed");
  CHECK(strstr(kiln_error_message(error), "test.cu") != NULL);
  CHECK(strstr(kiln_error_log(error), "identifier \"undeclared\" is undefined") != NULL);
  CHECK(kiln_error_vendor_code(error) != 0);
  kiln_error_free(error);

  const char* const option = "-arch=sm_80";
  const kiln_program_spec spec = {.size = sizeof(spec),
                                  .name = "test.cu",
                                  .source = sound,
                                  .options = &option,
                                  .option_count = 1};
  kiln_program* program = NULL;
  FAIL(kiln_program_make(&spec, &program), KILN_ERROR_INVALID_OPTION, "-arch=sm_80");

  const kiln_runtime_options options = {.size = sizeof(options), .cache_directory = "relative"};
  kiln_runtime* runtime = NULL;
  FAIL(kiln_runtime_open(&options, &runtime), KILN_ERROR_INVALID_SETTING, "relative");
  CHECK(runtime == NULL);
}

/// The error for it needs none itself, and the library goes on once there is some.
void test_runs_out_of_memory(void) {
  const size_t length = (size_t)256 << 20;
  char* source = malloc(length + 1);
  CHECK(source != NULL);
  memset(source, ' ', length);
  source[length] = 0;
  kiln_program_spec spec = {.size = sizeof(spec), .name = "test.cu", .source = source};
  kiln_program* program = NULL;
  struct rlimit before;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  const struct rlimit nothing_more = {1, before.rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &nothing_more) == 0);
  kiln_error* error = kiln_program_make(&spec, &program);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK_TEXT(kiln_error_code_name(error), "out_of_memory");
  CHECK_TEXT(kiln_error_log(error), "");
  FAIL(error, KILN_ERROR_OUT_OF_MEMORY, "no memory left");
  SUCCEED(kiln_program_make(&spec, &program));
  kiln_program_free(program);
  free(source);
}
