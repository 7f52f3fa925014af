// Kernels and modules on the fake driver.

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "kiln/c_api.h"
#include "tests.h"

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

void test_launches(void) {
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

/// What threads share, and how many launches each makes.
struct shared {
  kiln_runtime* runtime;
  kiln_program* program;
  kiln_kernel* kernel;
};

enum { thread_count = 4, launches_per_thread = 50 };

static void* compile_and_launch(void* given) {
  const struct shared* shared = given;
  kiln_artifact* artifact = NULL;
  kiln_kernel* own = NULL;
  SUCCEED(
      kiln_runtime_compile(shared->runtime, shared->program, "sm_90", KILN_IMAGE_CUBIN, &artifact));
  SUCCEED(kiln_runtime_kernel(shared->runtime, shared->program, scale_expression, &own));
  void* x = NULL;
  float by = 0.5F;
  const kiln_bytes arguments[] = {{&x, sizeof(x)}, {&by, sizeof(by)}};
  const kiln_launch_config config = {.size = sizeof(config), .grid = {.x = 1}, .block = {.x = 32}};
  for (int launch = 0; launch < launches_per_thread; ++launch) {
    SUCCEED(kiln_kernel_launch(shared->kernel, NULL, &config, arguments, 2));
    FAIL(kiln_kernel_launch(own, NULL, &config, arguments, 1), KILN_ERROR_ARGUMENT_MISMATCH,
         "takes 2 arguments, 1 were given");
  }
  kiln_kernel_free(own);
  kiln_artifact_free(artifact);
  return NULL;
}

void test_takes_threads(void) {
  struct shared shared = {open_runtime(), make_scale_program(), NULL};
  SUCCEED(kiln_runtime_kernel(shared.runtime, shared.program, scale_expression, &shared.kernel));
  pthread_t threads[thread_count];
  for (int index = 0; index < thread_count; ++index)
    CHECK(pthread_create(&threads[index], NULL, compile_and_launch, &shared) == 0);
  for (int index = 0; index < thread_count; ++index) pthread_join(threads[index], NULL);
  CHECK(launches() == (size_t)thread_count * launches_per_thread);
  kiln_counters counters = {.size = sizeof(counters)};
  SUCCEED(kiln_runtime_get_counters(shared.runtime, &counters));
  CHECK(counters.compiles == 2 && counters.loads == 1);
  kiln_kernel_free(shared.kernel);
  kiln_program_free(shared.program);
  kiln_runtime_close(shared.runtime);
}

void test_refuses_wrong_launches(void) {
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

void test_tells_of_kernels(void) {
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

void test_loads_modules(void) {
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
