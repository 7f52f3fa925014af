// Programs to artifacts: compiled, served, linked, packed, explained, not waited for.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "fixture.h"
#include "kiln/c_api.h"
#include "tests.h"

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
  CHECK(kernel.param_kinds[0] == KILN_PARAMETER_POINTER);
  CHECK(kernel.param_kinds[1] == KILN_PARAMETER_FLOATING);
  FAIL(kiln_artifact_get_kernel(artifact, 1, &kernel), KILN_ERROR_INVALID_ARGUMENT,
       "there is no kernel 1: the artifact has 1");
}

void test_compiles(void) {
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

void test_offers_standard_headers(void) {
  kiln_runtime* runtime = open_runtime();
  const char* const kernel = "k";
  const kiln_header_set* const headers[] = {kiln_standard_headers()};
  kiln_program_spec spec = {.size = sizeof(spec),
                            .name = "standard.cu",
                            .source =
                                "#include <cstdint>\n"
                                "extern \"C\" __global__ void k(std::uint64_t* x) { *x = 1; }\n",
                            .no_toolkit_headers = 1,
                            .kernels = &kernel,
                            .kernel_count = 1};
  for (spec.header_count = 0; spec.header_count < 2; ++spec.header_count) {
    if (spec.header_count != 0) spec.headers = headers;
    kiln_program* program = NULL;
    kiln_artifact* artifact = NULL;
    SUCCEED(kiln_program_make(&spec, &program));
    kiln_error* error =
        kiln_runtime_compile(runtime, program, "sm_80", KILN_IMAGE_CUBIN, &artifact);
    CHECK(kiln_error_code(error) ==
          (spec.header_count == 0 ? KILN_ERROR_HEADER_NOT_FOUND : KILN_OK));
    kiln_error_free(error);
    kiln_artifact_free(artifact);
    kiln_program_free(program);
  }
  kiln_runtime_close(runtime);
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

void test_hits(void) {
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

void test_compiles_ptx(void) {
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

void test_links(void) {
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

void test_packs_fatbins(void) {
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

void test_chooses_variants(void) {
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

void test_explains(void) {
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

void test_obeys_the_mode(void) {
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

void test_tells_what_it_does(void) {
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

static kiln_runtime* open_sharing(const char* remotes, const char* helper) {
  const kiln_runtime_options options = {.size = sizeof(options),
                                        .cache_directory = cache_directory(),
                                        .remotes = remotes,
                                        .remote_helper = helper,
                                        .log_level = KILN_LOG_OFF};
  kiln_runtime* runtime = NULL;
  SUCCEED(kiln_runtime_open(&options, &runtime));
  return runtime;
}

static void get_remote(const kiln_runtime* runtime, size_t index, kiln_remotes** remotes,
                       kiln_remote_info* info) {
  size_t count = 0;
  kiln_remotes_free(*remotes);
  SUCCEED(kiln_runtime_get_remotes(runtime, 0, remotes, &count));
  CHECK(index < count);
  SUCCEED(kiln_remotes_get_info(*remotes, index, info));
  FAIL(kiln_remotes_get_info(*remotes, count, info), KILN_ERROR_INVALID_ARGUMENT,
       "there is no store");
}

void test_shares_a_store(void) {
  char url[4200];
  snprintf(url, sizeof(url), "file://%s/store", cache_directory());
  kiln_runtime* runtime = open_sharing(url, NULL);
  kiln_artifact_free(compile_scale(runtime));
  kiln_remotes* remotes = NULL;
  kiln_remote_info info = {.size = sizeof(info)};
  // The entry is put while nobody waits.
  for (int step = 0; step < 500 && info.pushed == 0; ++step) {
    get_remote(runtime, 0, &remotes, &info);
    const struct timespec moment = {.tv_nsec = 10000000};
    nanosleep(&moment, NULL);
  }
  CHECK_TEXT(info.url, url);
  CHECK_TEXT(info.fault, "");
  CHECK_TEXT(info.last_failure, "");
  CHECK(info.pushed == 1 && info.asked > 0 && info.found == 0 && info.failures == 0);
  CHECK(info.gives_leases == 1 && info.read_only == 0 && info.resting == 0);
  kiln_remotes_free(remotes);
  kiln_runtime_close(runtime);
}

void test_tells_why_no_store_is_asked(void) {
  kiln_runtime* runtime =
      open_sharing("redis://farm:sesame@host/2?read-only file:///nowhere/store", "/nowhere/helper");
  kiln_remotes* remotes = NULL;
  kiln_remote_info info = {.size = sizeof(info)};
  get_remote(runtime, 1, &remotes, &info);
  CHECK_TEXT(info.url, "file:///nowhere/store");
  get_remote(runtime, 0, &remotes, &info);
  CHECK(info.read_only == 1 && info.asked == 0);
  CHECK(strstr(info.url, "host/2") != NULL && strstr(info.url, "sesame") == NULL);
  CHECK(strstr(info.fault, "/nowhere/helper") != NULL);
  kiln_remotes_free(remotes);
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

void test_finds_tools(void) {
  kiln_runtime* runtime = open_runtime();
  check_tool(runtime, KILN_TOOL_COMPILER, 1);
  check_tool(runtime, KILN_TOOL_DRIVER, 1);
  kiln_runtime_close(runtime);

  const kiln_runtime_options options = {.size = sizeof(options),
                                        .cache_disabled = KILN_SWITCH_ON,
                                        .nvrtc = "/nowhere/libnvrtc.so",
                                        .cuda_driver = "/nowhere/libcuda.so",
                                        .compile_workers = KILN_WORKERS_NONE,
                                        .log_level = KILN_LOG_OFF};
  SUCCEED(kiln_runtime_open(&options, &runtime));
  check_tool(runtime, KILN_TOOL_COMPILER, 0);
  check_tool(runtime, KILN_TOOL_WORKER, 0);
  check_tool(runtime, KILN_TOOL_DRIVER, 0);
  kiln_runtime_close(runtime);
}

void test_compiles_async(void) {
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

void test_prefetches(void) {
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

  kiln_prefetch_item wrong = items[0];
  wrong.arch = "sm_";
  FAIL(kiln_runtime_prefetch(runtime, &wrong, 1, NULL, NULL, NULL), KILN_ERROR_UNKNOWN_ARCH, "sm_");
  kiln_program_free(bad);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}

// One after the other, so that the last are still to come when the first is told of.
void test_ends_a_prefetch(void) {
  const kiln_runtime_options options = {.size = sizeof(options),
                                        .cache_disabled = KILN_SWITCH_ON,
                                        .compile_workers = KILN_WORKERS_NONE,
                                        .log_level = KILN_LOG_OFF};
  kiln_runtime* runtime = NULL;
  SUCCEED(kiln_runtime_open(&options, &runtime));
  kiln_program* program = make_scale_program();
  const kiln_prefetch_item items[] = {{program, "sm_80", KILN_IMAGE_CUBIN},
                                      {program, "sm_86", KILN_IMAGE_CUBIN},
                                      {program, "sm_87", KILN_IMAGE_CUBIN},
                                      {program, "sm_89", KILN_IMAGE_CUBIN},
                                      {program, "sm_90", KILN_IMAGE_CUBIN}};
  struct seen ending = {.answer = 1};
  kiln_prefetch_report report = {.size = sizeof(report)};
  SUCCEED(kiln_runtime_prefetch(runtime, items, 5, see, &ending, &report));
  CHECK(report.compiled >= 1 && report.failures >= 1 && report.compiled + report.failures == 5);
  CHECK(ending.last_error == KILN_ERROR_CANCELLED);
  kiln_program_free(program);
  kiln_runtime_close(runtime);
}
