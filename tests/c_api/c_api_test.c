// The C API as a program in C uses it: kiln_c_api_test NAME runs one of the tests below.

#include "kiln/c_api.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "fixture.h"

static void test_version(void) {
  CHECK(kiln_api_version() == KILN_API_VERSION);
  CHECK(kiln_error_code(NULL) == KILN_OK);
  CHECK_TEXT(kiln_error_code_name(NULL), "ok");
  CHECK_TEXT(kiln_error_message(NULL), "");
  CHECK_TEXT(kiln_error_log(NULL), "");
  CHECK(kiln_error_vendor_code(NULL) == 0);
}

static void test_nothing_is_freed(void) {
  kiln_error_free(NULL);
  kiln_header_set_free(NULL);
  kiln_program_free(NULL);
  kiln_runtime_close(NULL);
  kiln_availability_free(NULL);
  kiln_artifact_free(NULL);
  kiln_explanation_free(NULL);
  kiln_compiling_free(NULL);
  kiln_kernel_free(NULL);
  kiln_module_free(NULL);
}

static void check_scale_kernel(const kiln_artifact* artifact) {
  kiln_kernel_info kernel = {.size = sizeof(kernel)};
  SUCCEED(kiln_artifact_get_kernel(artifact, 0, &kernel));
  CHECK_TEXT(kernel.expression, scale_expression);
  CHECK_TEXT(kernel.symbol, "_ZN6engine5scaleIfLi2EEEvPT_S1_");
  CHECK_TEXT(kernel.arch, "sm_80");
  CHECK(kernel.kind == KILN_IMAGE_CUBIN);
  CHECK(kernel.registers > 0 && kernel.shared_bytes == 0 && kernel.local_bytes == 0);
  CHECK(kernel.params_known == 1 && kernel.param_count == 2);
  CHECK(kernel.params[0].offset == 0 && kernel.params[0].size == sizeof(void*));
  CHECK(kernel.params[1].offset == sizeof(void*) && kernel.params[1].size == sizeof(float));
  FAIL(kiln_artifact_get_kernel(artifact, 1, &kernel), KILN_ERROR_INVALID_ARGUMENT,
       "there is no kernel 1: the artifact has 1");
}

static void test_compiles(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_artifact* artifact = compile_scale(runtime);
  kiln_runtime_close(runtime);

  kiln_artifact_info info = {.size = sizeof(info)};
  SUCCEED(kiln_artifact_get_info(artifact, &info));
  CHECK(strlen(info.key) == 32);
  CHECK_TEXT(info.program, "scale.cu");
  CHECK_TEXT(info.arch, "sm_80");
  CHECK_TEXT(info.log, "");
  CHECK(info.kind == KILN_IMAGE_CUBIN && info.origin == KILN_ORIGIN_COMPILED);
  CHECK(info.image.size > 4 && memcmp(info.image.data, "\177ELF", 4) == 0);
  CHECK(strstr(info.toolchain, "NVRTC") != NULL);
  CHECK(info.compile_us > 0 && info.kernel_count == 1);
  check_scale_kernel(artifact);
  kiln_artifact_free(artifact);
}

static void check_same_image(const kiln_artifact* one, const kiln_artifact* other) {
  kiln_artifact_info info = {.size = sizeof(info)};
  kiln_artifact_info other_info = {.size = sizeof(other_info)};
  SUCCEED(kiln_artifact_get_info(one, &info));
  SUCCEED(kiln_artifact_get_info(other, &other_info));
  CHECK_TEXT(info.key, other_info.key);
  CHECK(info.image.size == other_info.image.size);
  CHECK(memcmp(info.image.data, other_info.image.data, info.image.size) == 0);
}

static void test_hits(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_artifact* compiled = compile_scale(runtime);
  kiln_artifact* again = compile_scale(runtime);
  CHECK(origin_of(compiled) == KILN_ORIGIN_COMPILED);
  CHECK(origin_of(again) == KILN_ORIGIN_MEMORY);

  kiln_runtime* other = open_runtime();
  kiln_artifact* stored = compile_scale(other);
  CHECK(origin_of(stored) == KILN_ORIGIN_LOCAL);
  check_same_image(compiled, stored);
  check_scale_kernel(stored);

  kiln_counters counters = {.size = sizeof(counters)};
  SUCCEED(kiln_runtime_get_counters(runtime, &counters));
  CHECK(counters.misses == 1 && counters.compiles == 1 && counters.stores == 1);
  CHECK(counters.memory_hits == 1 && counters.local_hits == 0);
  SUCCEED(kiln_runtime_check_cache(runtime));

  kiln_artifact_free(compiled);
  kiln_artifact_free(again);
  kiln_artifact_free(stored);
  kiln_runtime_close(runtime);
  kiln_runtime_close(other);
}

static void test_compiles_ptx(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_artifact* artifact = NULL;
  SUCCEED(kiln_runtime_compile(runtime, program, "compute_80", KILN_IMAGE_PTX, &artifact));
  kiln_artifact_info info = {.size = sizeof(info)};
  SUCCEED(kiln_artifact_get_info(artifact, &info));
  CHECK(info.kind == KILN_IMAGE_PTX);
  const char* text = info.image.data;
  CHECK(strstr(text, ".target sm_80") != NULL && strlen(text) <= info.image.size);
  kiln_artifact_free(artifact);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

/// Ends the process, saying so, where this machine has no such tool.
static void skip_without(const kiln_runtime* runtime, kiln_tool tool) {
  kiln_availability* availability = NULL;
  kiln_availability_info info = {.size = sizeof(info)};
  SUCCEED(kiln_runtime_availability(runtime, tool, &availability));
  SUCCEED(kiln_availability_get_info(availability, &info));
  if (!info.available) printf("skipped: %s\n", info.reason);
  if (!info.available) exit(0);
  kiln_availability_free(availability);
}

static void check_image(const kiln_artifact* artifact, const char* program, kiln_image_kind kind) {
  kiln_artifact_info info = {.size = sizeof(info)};
  SUCCEED(kiln_artifact_get_info(artifact, &info));
  CHECK_TEXT(info.program, program);
  CHECK(info.kind == kind && info.image.size > 0 && info.kernel_count == 1);
}

static void test_links(void) {
  kiln_runtime* runtime = open_runtime();
  skip_without(runtime, KILN_TOOL_LINKER);
  kiln_program* program = make_scale_program();
  kiln_artifact* input = NULL;
  kiln_artifact* linked = NULL;
  SUCCEED(kiln_runtime_compile(runtime, program, "sm_80", KILN_IMAGE_LTOIR, &input));
  const kiln_artifact* const inputs[] = {input};
  kiln_link_spec spec = {.size = sizeof(spec),
                         .name = "engine.link",
                         .inputs = inputs,
                         .input_count = 1,
                         .arch = "sm_80"};
  SUCCEED(kiln_runtime_link(runtime, &spec, &linked));
  check_image(linked, "engine.link", KILN_IMAGE_CUBIN);
  check_scale_kernel(linked);
  kiln_artifact_free(linked);
  spec.input_count = 0;
  FAIL(kiln_runtime_link(runtime, &spec, &linked), KILN_ERROR_INVALID_ARGUMENT, "engine.link");
  kiln_artifact_free(input);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

static void test_packs_fatbins(void) {
  kiln_runtime* runtime = open_runtime();
  skip_without(runtime, KILN_TOOL_PACKER);
  kiln_program* program = make_scale_program();
  kiln_artifact* fatbin = NULL;
  const kiln_target targets[] = {{"sm_80", KILN_IMAGE_CUBIN}, {"compute_90", KILN_IMAGE_PTX}};
  SUCCEED(kiln_runtime_fatbin(runtime, program, targets, 2, &fatbin));
  check_image(fatbin, "scale.cu", KILN_IMAGE_FATBIN);
  kiln_artifact_free(fatbin);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

/// What a program's only kernel comes to for this architecture.
static void check_symbol(kiln_runtime* runtime, const kiln_program* program, const char* arch,
                         const char* symbol) {
  kiln_artifact* artifact = NULL;
  kiln_kernel_info kernel = {.size = sizeof(kernel)};
  SUCCEED(kiln_runtime_compile(runtime, program, arch, KILN_IMAGE_CUBIN, &artifact));
  SUCCEED(kiln_artifact_get_kernel(artifact, 0, &kernel));
  CHECK_TEXT(kernel.symbol, symbol);
  kiln_artifact_free(artifact);
}

static void test_chooses_variants(void) {
  const char* const source = "template <int N> __global__ void k() {}";
  const char* const expression = "k<1>";
  const kiln_replaced_kernel kernel = {expression, "k<2>"};
  const kiln_variant_spec hopper = {.size = sizeof(hopper),
                                    .name = "hopper",
                                    .since = "sm_90a",
                                    .kernels = &kernel,
                                    .kernel_count = 1};
  const kiln_variant_spec* const variants[] = {&hopper};
  const kiln_program_spec spec = {.size = sizeof(spec),
                                  .name = "test.cu",
                                  .source = source,
                                  .kernels = &expression,
                                  .kernel_count = 1,
                                  .variants = variants,
                                  .variant_count = 1};
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = NULL;
  kiln_program* chosen = NULL;
  SUCCEED(kiln_program_make(&spec, &program));
  check_symbol(runtime, program, "sm_80", "_Z1kILi1EEvv");
  check_symbol(runtime, program, "sm_90a", "_Z1kILi2EEvv");
  SUCCEED(kiln_program_with_variant(program, "hopper", &chosen));
  check_symbol(runtime, chosen, "sm_80", "_Z1kILi2EEvv");
  kiln_program_free(chosen);
  FAIL(kiln_program_with_variant(program, "volta", &chosen), KILN_ERROR_INVALID_ARGUMENT, "hopper");
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

static kiln_explanation_info explain(kiln_runtime* runtime, const kiln_program* program,
                                     kiln_explanation** explanation) {
  kiln_explanation_info info = {.size = sizeof(info)};
  SUCCEED(kiln_runtime_explain(runtime, program, "sm_80", KILN_IMAGE_CUBIN, explanation));
  SUCCEED(kiln_explanation_get_info(*explanation, &info));
  return info;
}

static void test_explains(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_explanation* before = NULL;
  const kiln_explanation_info miss = explain(runtime, program, &before);
  CHECK(miss.hit == 0 && miss.origin == KILN_ORIGIN_COMPILED);
  CHECK_TEXT(miss.key, "");
  CHECK(strlen(miss.reason) > 0 && strstr(miss.summary, miss.reason) != NULL);

  kiln_artifact_free(compile_scale(runtime));
  kiln_explanation* after = NULL;
  const kiln_explanation_info hit = explain(runtime, program, &after);
  CHECK(hit.hit == 1 && hit.origin != KILN_ORIGIN_COMPILED && strlen(hit.key) == 32);
  CHECK_TEXT(hit.reason, "");
  kiln_explanation_free(before);
  kiln_explanation_free(after);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

static void test_refuses_null(void) {
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

static void test_refuses_numbers(void) {
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

static void test_refuses_sizes(void) {
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
static void test_takes_older_and_newer_structures(void) {
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
       "'options' has a field set that this library, of API version 1, does not know");
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

static void test_tells_of_failures(void) {
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
static void test_runs_out_of_memory(void) {
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

static void test_obeys_the_mode(void) {
  const char* const source = "extern \"C\" __global__ void k() {}";
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_program(source, "k");
  kiln_artifact* artifact = NULL;
  SUCCEED(kiln_runtime_set_mode(runtime, KILN_MODE_CACHE_ONLY));
  FAIL(kiln_runtime_compile(runtime, program, "sm_80", KILN_IMAGE_CUBIN, &artifact),
       KILN_ERROR_NOT_CACHED, "test.cu");
  SUCCEED(kiln_runtime_set_mode(runtime, KILN_MODE_JIT));
  SUCCEED(kiln_runtime_compile(runtime, program, "sm_80", KILN_IMAGE_CUBIN, &artifact));
  kiln_artifact_free(artifact);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

static void count_line(void* user, kiln_log_level level, const char* text) {
  CHECK(level >= KILN_LOG_WARN && level <= KILN_LOG_DEBUG);
  CHECK(strlen(text) > 0);
  ++*(int*)user;
}

static void note_event(void* user, const kiln_event* event) {
  CHECK(event->size == sizeof(*event));
  CHECK_TEXT(event->program, "scale.cu");
  CHECK_TEXT(event->arch, "sm_80");
  if (event->kind == KILN_EVENT_COMPILE_END) CHECK(event->milliseconds > 0);
  if (event->kind == KILN_EVENT_STORE) CHECK(strlen(event->key) == 32);
  *(unsigned*)user |= 1U << event->kind;
}

static void test_tells_what_it_does(void) {
  int lines = 0;
  unsigned events = 0;
  const kiln_runtime_options options = {.size = sizeof(options),
                                        .cache_directory = cache_directory(),
                                        .log_level = KILN_LOG_DEBUG,
                                        .log = count_line,
                                        .log_user = &lines,
                                        .observer = note_event,
                                        .observer_user = &events};
  kiln_runtime* runtime = NULL;
  SUCCEED(kiln_runtime_open(&options, &runtime));
  kiln_artifact_free(compile_scale(runtime));
  CHECK(lines > 0);
  CHECK(events == (1U << KILN_EVENT_MISS | 1U << KILN_EVENT_COMPILE_BEGIN |
                   1U << KILN_EVENT_COMPILE_END | 1U << KILN_EVENT_STORE));
  events = 0;
  kiln_artifact_free(compile_scale(runtime));
  CHECK(events == 1U << KILN_EVENT_HIT);
  kiln_runtime_close(runtime);
}

static void check_tool(const kiln_runtime* runtime, kiln_tool tool, int32_t available) {
  kiln_availability* availability = NULL;
  kiln_availability_info info = {.size = sizeof(info)};
  SUCCEED(kiln_runtime_availability(runtime, tool, &availability));
  SUCCEED(kiln_availability_get_info(availability, &info));
  CHECK(info.available == available);
  CHECK((strlen(info.description) > 0) == available);
  CHECK((strlen(info.reason) > 0) != available);
  kiln_availability_free(availability);
}

static void test_finds_tools(void) {
  kiln_runtime* runtime = open_runtime();
  check_tool(runtime, KILN_TOOL_COMPILER, 1);
  check_tool(runtime, KILN_TOOL_DRIVER, 1);
  kiln_runtime_close(runtime);

  const kiln_runtime_options options = {.size = sizeof(options),
                                        .cache_disabled = KILN_SWITCH_ON,
                                        .nvrtc = "/nowhere/libnvrtc.so",
                                        .cuda_driver = "/nowhere/libcuda.so",
                                        .log_level = KILN_LOG_OFF};
  SUCCEED(kiln_runtime_open(&options, &runtime));
  check_tool(runtime, KILN_TOOL_COMPILER, 0);
  check_tool(runtime, KILN_TOOL_DRIVER, 0);
  kiln_runtime_close(runtime);
}

static void test_compiles_async(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_compiling* compiling = NULL;
  int32_t ready = 0;
  SUCCEED(kiln_runtime_compile_async(runtime, program, "sm_80", KILN_IMAGE_CUBIN, 1, &compiling));
  SUCCEED(kiln_compiling_wait(compiling, UINT64_MAX, &ready));
  CHECK(ready == 1);
  kiln_artifact* artifact = NULL;
  SUCCEED(kiln_compiling_get(compiling, &artifact));
  check_scale_kernel(artifact);
  kiln_artifact_free(artifact);
  SUCCEED(kiln_compiling_cancel(compiling));
  SUCCEED(kiln_compiling_get(compiling, &artifact));
  kiln_artifact_free(artifact);
  kiln_compiling_free(compiling);

  kiln_program* bad = make_program("nonsense", "k");
  SUCCEED(kiln_runtime_compile_async(runtime, bad, "sm_80", KILN_IMAGE_CUBIN, 0, &compiling));
  FAIL(kiln_compiling_get(compiling, &artifact), KILN_ERROR_COMPILE_FAILED, "test.cu");
  kiln_compiling_free(compiling);
  kiln_program_free(bad);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

struct seen {
  size_t calls;
  size_t artifacts;
  kiln_code last_error;
  int32_t answer;
};

static int32_t see(void* user, size_t index, const kiln_artifact* artifact, const kiln_error* error,
                   size_t done, size_t total) {
  struct seen* seen = user;
  CHECK((artifact == NULL) == (error != NULL));
  CHECK(index < total && done == ++seen->calls);
  seen->artifacts += artifact != NULL;
  if (error != NULL) seen->last_error = kiln_error_code(error);
  return seen->answer;
}

static void test_prefetches(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_program* bad = make_program("nonsense", "k");
  const kiln_prefetch_item items[] = {{program, "sm_80", KILN_IMAGE_CUBIN},
                                      {bad, "sm_80", KILN_IMAGE_CUBIN},
                                      {program, "sm_90a", KILN_IMAGE_CUBIN}};
  kiln_prefetch_report report = {.size = sizeof(report)};
  struct seen seen = {0};
  SUCCEED(kiln_runtime_prefetch(runtime, items, 3, see, &seen, &report));
  CHECK(report.hits == 0 && report.compiled == 2 && report.failures == 1);
  CHECK(seen.calls == 3 && seen.artifacts == 2);
  CHECK(seen.last_error == KILN_ERROR_COMPILE_FAILED);

  SUCCEED(kiln_runtime_prefetch(runtime, items, 1, NULL, NULL, &report));
  CHECK(report.hits == 1 && report.compiled == 0 && report.failures == 0);
  SUCCEED(kiln_runtime_prefetch(runtime, NULL, 0, NULL, NULL, NULL));

  const kiln_prefetch_item more[] = {{program, "sm_86", KILN_IMAGE_CUBIN},
                                     {program, "sm_89", KILN_IMAGE_CUBIN}};
  struct seen ending = {.answer = 1};
  SUCCEED(kiln_runtime_prefetch(runtime, more, 2, see, &ending, &report));
  CHECK(report.compiled == 1 && report.failures == 1);
  CHECK(ending.last_error == KILN_ERROR_CANCELLED);

  kiln_prefetch_item wrong = items[0];
  wrong.arch = "sm_";
  FAIL(kiln_runtime_prefetch(runtime, &wrong, 1, NULL, NULL, NULL), KILN_ERROR_UNKNOWN_ARCH, "sm_");
  kiln_program_free(bad);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

static size_t launches(void) {
  size_t (*count)(void) = NULL;
  *(void**)&count = fake_driver_symbol("fake_cuda_launch_count");
  return count();
}

static FakeCudaLaunch launch_at(size_t index) {
  FakeCudaLaunch (*launch)(size_t) = NULL;
  *(void**)&launch = fake_driver_symbol("fake_cuda_launch");
  return launch(index);
}

static void check_received(size_t launch, size_t position, const void* bytes, size_t size) {
  FakeCudaParam (*param)(size_t, size_t) = NULL;
  *(void**)&param = fake_driver_symbol("fake_cuda_param");
  const FakeCudaParam received = param(launch, position);
  CHECK(received.size == size && memcmp(received.bytes, bytes, size) == 0);
}

/// The kernel of the scale program on the fake device; the only handle that keeps its runtime.
static kiln_kernel* scale_kernel(void) {
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  kiln_kernel* kernel = NULL;
  SUCCEED(kiln_runtime_kernel(runtime, program, scale_expression, &kernel));
  kiln_program_free(program);
  kiln_runtime_close(runtime);
  return kernel;
}

static void test_launches(void) {
  kiln_kernel* kernel = scale_kernel();
  void* x = (void*)(uintptr_t)0x7f0000001000;
  float by = 0.5F;
  const kiln_bytes arguments[] = {{&x, sizeof(x)}, {&by, sizeof(by)}};
  const kiln_launch_config config = {
      .size = sizeof(config), .grid = {.x = 4}, .block = {.x = 32, .y = 2}, .shared_bytes = 64};
  SUCCEED(kiln_kernel_launch(kernel, (void*)2, &config, arguments, 2));
  CHECK(launches() == 1);
  const FakeCudaLaunch launch = launch_at(0);
  CHECK_TEXT(launch.kernel, "_ZN6engine5scaleIfLi2EEEvPT_S1_");
  CHECK(launch.grid[0] == 4 && launch.grid[1] == 1 && launch.grid[2] == 1);
  CHECK(launch.block[0] == 32 && launch.block[1] == 2 && launch.block[2] == 1);
  CHECK(launch.shared_bytes == 64 && launch.stream == (void*)2);
  check_received(0, 0, &x, sizeof(x));
  check_received(0, 1, &by, sizeof(by));
  kiln_kernel_free(kernel);
}

static void test_refuses_wrong_launches(void) {
  kiln_kernel* kernel = scale_kernel();
  void* x = NULL;
  double by = 0.5;
  kiln_bytes arguments[] = {{&x, sizeof(x)}, {&by, sizeof(by)}, {&by, sizeof(by)}};
  kiln_launch_config config = {.size = sizeof(config), .grid = {.x = 1}, .block = {.x = 32}};
  const kiln_code mismatch = KILN_ERROR_ARGUMENT_MISMATCH;
  const kiln_code invalid = KILN_ERROR_INVALID_ARGUMENT;
  FAIL(kiln_kernel_launch(kernel, NULL, &config, NULL, 0), mismatch,
       "kernel 'engine::scale<float, 2>' takes 2 arguments, 0 were given");
  FAIL(kiln_kernel_launch(kernel, NULL, &config, arguments, 3), mismatch,
       "takes 2 arguments, 3 were given");
  FAIL(kiln_kernel_launch(kernel, NULL, &config, arguments, 2), mismatch,
       "argument 2 of 2 takes 4 bytes, but 8 bytes were given");
  arguments[1].data = NULL;
  FAIL(kiln_kernel_launch(kernel, NULL, &config, arguments, 2), invalid, "argument 2 is null");
  FAIL(kiln_kernel_launch(kernel, NULL, &config, NULL, 2), invalid, "'arguments' is null");
  FAIL(kiln_kernel_launch(kernel, NULL, NULL, arguments, 2), invalid, "'config' is null");
  arguments[1] = (kiln_bytes){&by, sizeof(float)};
  config.grid.x = 0;
  FAIL(kiln_kernel_launch(kernel, NULL, &config, arguments, 2), invalid, "no dimension may be 0");
  config.grid.x = 1;
  config.cluster_scheduling = 3;
  FAIL(kiln_kernel_launch(kernel, NULL, &config, arguments, 2), invalid,
       "'cluster_scheduling' is 3");
  config.cluster_scheduling = KILN_CLUSTER_SCHEDULING_UNSET;
  config.cluster.x = 2;
  FAIL(kiln_kernel_launch(kernel, NULL, &config, arguments, 2), invalid, "cluster");
  CHECK(launches() == 0);
  kiln_kernel_free(kernel);
}

static void test_tells_of_kernels(void) {
  kiln_kernel* kernel = scale_kernel();
  kiln_kernel_info info = {.size = sizeof(info)};
  SUCCEED(kiln_kernel_get_info(kernel, &info));
  CHECK_TEXT(info.expression, scale_expression);
  CHECK_TEXT(info.arch, "sm_80");
  CHECK(info.kind == KILN_IMAGE_CUBIN && info.param_count == 2 && info.params[1].size == 4);
  kiln_kernel_attributes attributes = {.size = sizeof(attributes)};
  SUCCEED(kiln_kernel_get_attributes(kernel, &attributes));
  CHECK(attributes.registers == info.registers && attributes.max_threads_per_block > 0);
  uint32_t blocks = 0;
  SUCCEED(kiln_kernel_blocks_per_multiprocessor(kernel, 128, 0, &blocks));
  CHECK(blocks > 0);
  kiln_kernel_free(kernel);

  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_scale_program();
  FAIL(kiln_runtime_kernel(runtime, program, "other", &kernel), KILN_ERROR_UNKNOWN_KERNEL, "other");
  SUCCEED(kiln_runtime_kernel_for_target(runtime, program, scale_expression, "compute_80",
                                         KILN_IMAGE_PTX, &kernel));
  SUCCEED(kiln_kernel_get_info(kernel, &info));
  CHECK(info.kind == KILN_IMAGE_PTX);
  kiln_kernel_free(kernel);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

static void test_loads_modules(void) {
  const char* const source =
      "extern \"C\" __constant__ float table[4] = {1, 2, 3, 4};\n"
      "extern \"C\" __global__ void look_up(float* x) { *x = table[threadIdx.x]; }\n";
  kiln_runtime* runtime = open_runtime();
  kiln_program* program = make_program(source, "look_up");
  kiln_module* module = NULL;
  kiln_kernel* kernel = NULL;
  SUCCEED(kiln_runtime_module(runtime, program, &module));
  uint64_t address = 0;
  size_t size = 0;
  SUCCEED(kiln_module_variable(module, "table", &address, &size));
  CHECK(address != 0 && size == 16);
  FAIL(kiln_module_variable(module, "chair", &address, &size), KILN_ERROR_NOT_FOUND, "chair");
  FAIL(kiln_module_kernel(module, "other", &kernel), KILN_ERROR_UNKNOWN_KERNEL, "look_up");
  kiln_module_free(module);

  kiln_artifact* artifact = NULL;
  kiln_artifact_info info = {.size = sizeof(info)};
  SUCCEED(kiln_runtime_compile(runtime, program, "sm_80", KILN_IMAGE_CUBIN, &artifact));
  SUCCEED(kiln_runtime_module_of_artifact(runtime, artifact, &module));
  kiln_module_free(module);
  SUCCEED(kiln_artifact_get_info(artifact, &info));
  SUCCEED(kiln_runtime_module_of_image(runtime, info.image, "foreign", &module));
  FAIL(kiln_runtime_module_of_image(runtime, (kiln_bytes){"?", 1}, "bad", &module),
       KILN_ERROR_INVALID_ARGUMENT, "bad");
  kiln_artifact_free(artifact);
  kiln_program_free(program);
  kiln_runtime_close(runtime);

  SUCCEED(kiln_module_kernel(module, "look_up", &kernel));
  kiln_module_free(module);
  void* x = NULL;
  const kiln_bytes argument = {&x, sizeof(x)};
  const kiln_launch_config config = {.size = sizeof(config), .grid = {.x = 1}, .block = {.x = 4}};
  SUCCEED(kiln_kernel_launch(kernel, NULL, &config, &argument, 1));
  CHECK(launches() == 1);
  kiln_kernel_free(kernel);
}

static const struct {
  const char* name;
  void (*run)(void);
} tests[] = {
    {"version", test_version},
    {"nothing_is_freed", test_nothing_is_freed},
    {"compiles", test_compiles},
    {"hits", test_hits},
    {"compiles_ptx", test_compiles_ptx},
    {"links", test_links},
    {"packs_fatbins", test_packs_fatbins},
    {"chooses_variants", test_chooses_variants},
    {"explains", test_explains},
    {"refuses_null", test_refuses_null},
    {"refuses_numbers", test_refuses_numbers},
    {"refuses_sizes", test_refuses_sizes},
    {"takes_older_and_newer_structures", test_takes_older_and_newer_structures},
    {"tells_of_failures", test_tells_of_failures},
    {"runs_out_of_memory", test_runs_out_of_memory},
    {"obeys_the_mode", test_obeys_the_mode},
    {"tells_what_it_does", test_tells_what_it_does},
    {"finds_tools", test_finds_tools},
    {"compiles_async", test_compiles_async},
    {"prefetches", test_prefetches},
    {"launches", test_launches},
    {"refuses_wrong_launches", test_refuses_wrong_launches},
    {"tells_of_kernels", test_tells_of_kernels},
    {"loads_modules", test_loads_modules},
};

int main(int argc, char** argv) {
  for (size_t index = 0; index < sizeof(tests) / sizeof(tests[0]); ++index) {
    if (argc != 2 || strcmp(argv[1], tests[index].name) != 0) continue;
    tests[index].run();
    return 0;
  }
  fprintf(stderr, "usage: kiln_c_api_test NAME, which is that of one of the tests\n");
  return 2;
}
