// What a program that was built before relies on, written down once more: compiling this file is the test. It
// grows with KILN_API_VERSION, and nothing in it changes. A field that is added comes behind the others, and
// where a structure does not end in padding, it lies behind what that program was built with.

#include <stddef.h>

#include "kiln/c_api.h"

#define AT(type, field, offset) \
  typedef char type##_##field##_lies_at_##offset[offsetof(type, field) == (offset) ? 1 : -1]
// A structure that grows: its last field, which no padding follows, its size, and the version that made it so.
#define GROWS(type, field, bytes, version)                                          \
  typedef char type##_ends_with_##field                                             \
      [offsetof(type, field) + sizeof(((type*)0)->field) == sizeof(type) ? 1 : -1]; \
  typedef char type##_takes_##bytes##_since_##version                               \
      [sizeof(type) == (bytes) && KILN_API_VERSION >= (version) ? 1 : -1]
#define IS(enumerator, number) typedef char enumerator##_is_right[(enumerator) == (number) ? 1 : -1]
#define TAKES(type, bytes) typedef char type##_takes_##bytes[sizeof(type) == (bytes) ? 1 : -1]

AT(kiln_bytes, size, 8);
TAKES(kiln_bytes, 16);

AT(kiln_header, text, 8);
TAKES(kiln_header, 16);

AT(kiln_program_spec, name, 8);
AT(kiln_program_spec, source, 16);
AT(kiln_program_spec, no_toolkit_headers, 24);
AT(kiln_program_spec, headers, 32);
AT(kiln_program_spec, header_count, 40);
AT(kiln_program_spec, include_dirs, 48);
AT(kiln_program_spec, include_dir_count, 56);
AT(kiln_program_spec, kernels, 64);
AT(kiln_program_spec, kernel_count, 72);
AT(kiln_program_spec, options, 80);
AT(kiln_program_spec, option_count, 88);
AT(kiln_program_spec, variants, 96);
AT(kiln_program_spec, variant_count, 104);
GROWS(kiln_program_spec, variant_count, 112, 1);

AT(kiln_replaced_kernel, replacement, 8);
TAKES(kiln_replaced_kernel, 16);

AT(kiln_variant_spec, name, 8);
AT(kiln_variant_spec, since, 16);
AT(kiln_variant_spec, file, 24);
AT(kiln_variant_spec, source, 32);
AT(kiln_variant_spec, options, 40);
AT(kiln_variant_spec, option_count, 48);
AT(kiln_variant_spec, kernels, 56);
AT(kiln_variant_spec, kernel_count, 64);
GROWS(kiln_variant_spec, kernel_count, 72, 1);

AT(kiln_runtime_options, cache_directory, 8);
AT(kiln_runtime_options, cache_disabled, 16);
AT(kiln_runtime_options, cache_read_only, 20);
AT(kiln_runtime_options, cache_trust_others, 24);
AT(kiln_runtime_options, allow_ptx, 28);
AT(kiln_runtime_options, cache_max_bytes, 32);
AT(kiln_runtime_options, bundles, 40);
AT(kiln_runtime_options, bundle_count, 48);
AT(kiln_runtime_options, embedded_bundles, 56);
AT(kiln_runtime_options, embedded_bundle_count, 64);
AT(kiln_runtime_options, mode, 72);
AT(kiln_runtime_options, compile_workers, 76);
AT(kiln_runtime_options, compile_timeout, 80);
AT(kiln_runtime_options, compile_patience, 88);
AT(kiln_runtime_options, nvrtc, 96);
AT(kiln_runtime_options, nvjitlink, 104);
AT(kiln_runtime_options, nvfatbin, 112);
AT(kiln_runtime_options, cuda_driver, 120);
AT(kiln_runtime_options, worker, 128);
AT(kiln_runtime_options, variant, 136);
AT(kiln_runtime_options, record, 144);
AT(kiln_runtime_options, log_level, 152);
AT(kiln_runtime_options, log, 160);
AT(kiln_runtime_options, log_user, 168);
AT(kiln_runtime_options, observer, 176);
AT(kiln_runtime_options, observer_user, 184);
AT(kiln_runtime_options, cache_trust_owners, 192);
AT(kiln_runtime_options, cache_group, 200);
AT(kiln_runtime_options, engine, 208);
AT(kiln_runtime_options, trusted_keys, 216);
AT(kiln_runtime_options, signing_key, 224);
AT(kiln_runtime_options, remotes, 232);
GROWS(kiln_runtime_options, remote_helper, 248, 5);

AT(kiln_event, kind, 8);
AT(kiln_event, origin, 12);
AT(kiln_event, program, 16);
AT(kiln_event, arch, 24);
AT(kiln_event, key, 32);
AT(kiln_event, milliseconds, 40);
AT(kiln_event, detail, 48);
GROWS(kiln_event, detail, 56, 1);

AT(kiln_counters, memory_hits, 8);
AT(kiln_counters, local_hits, 16);
AT(kiln_counters, bundle_hits, 24);
AT(kiln_counters, misses, 32);
AT(kiln_counters, compiles, 40);
AT(kiln_counters, precompiled, 48);
AT(kiln_counters, combines, 56);
AT(kiln_counters, waits, 64);
AT(kiln_counters, stores, 72);
AT(kiln_counters, refusals, 80);
AT(kiln_counters, cache_errors, 88);
AT(kiln_counters, loads, 96);
AT(kiln_counters, remote_hits, 104);
GROWS(kiln_counters, lease_waits, 120, 5);

AT(kiln_remote_info, url, 8);
AT(kiln_remote_info, fault, 16);
AT(kiln_remote_info, last_failure, 24);
AT(kiln_remote_info, read_only, 32);
AT(kiln_remote_info, resting, 36);
AT(kiln_remote_info, gives_leases, 40);
AT(kiln_remote_info, round_trip_us, 48);
AT(kiln_remote_info, asked, 56);
AT(kiln_remote_info, found, 64);
AT(kiln_remote_info, failures, 72);
AT(kiln_remote_info, slow, 80);
AT(kiln_remote_info, pushed, 88);
AT(kiln_remote_info, duplicates, 96);
AT(kiln_remote_info, dropped, 104);
AT(kiln_remote_info, waiting, 112);
GROWS(kiln_remote_info, lease_waits, 128, 6);

AT(kiln_availability_info, available, 8);
AT(kiln_availability_info, description, 16);
AT(kiln_availability_info, reason, 24);
AT(kiln_availability_info, path, 32);
GROWS(kiln_availability_info, path, 40, 1);

AT(kiln_artifact_info, key, 8);
AT(kiln_artifact_info, program, 16);
AT(kiln_artifact_info, arch, 24);
AT(kiln_artifact_info, kind, 32);
AT(kiln_artifact_info, origin, 36);
AT(kiln_artifact_info, image, 40);
AT(kiln_artifact_info, log, 56);
AT(kiln_artifact_info, toolchain, 64);
AT(kiln_artifact_info, compile_us, 72);
AT(kiln_artifact_info, kernel_count, 80);
GROWS(kiln_artifact_info, kernel_count, 88, 1);

AT(kiln_parameter, size, 4);
TAKES(kiln_parameter, 8);

AT(kiln_kernel_info, expression, 8);
AT(kiln_kernel_info, symbol, 16);
AT(kiln_kernel_info, arch, 24);
AT(kiln_kernel_info, kind, 32);
AT(kiln_kernel_info, registers, 36);
AT(kiln_kernel_info, shared_bytes, 40);
AT(kiln_kernel_info, local_bytes, 44);
AT(kiln_kernel_info, params_known, 48);
AT(kiln_kernel_info, param_count, 56);
AT(kiln_kernel_info, params, 64);
AT(kiln_kernel_info, param_kinds, 72);
GROWS(kiln_kernel_info, param_kinds, 80, 2);

IS(KILN_PARAMETER_UNKNOWN, 0);
IS(KILN_PARAMETER_INTEGER, 1);
IS(KILN_PARAMETER_FLOATING, 2);
IS(KILN_PARAMETER_POINTER, 3);
IS(KILN_PARAMETER_OTHER, 4);

AT(kiln_link_spec, name, 8);
AT(kiln_link_spec, inputs, 16);
AT(kiln_link_spec, input_count, 24);
AT(kiln_link_spec, arch, 32);
AT(kiln_link_spec, kind, 40);
AT(kiln_link_spec, options, 48);
AT(kiln_link_spec, option_count, 56);
AT(kiln_link_spec, kernels, 64);
AT(kiln_link_spec, kernel_count, 72);
GROWS(kiln_link_spec, kernel_count, 80, 1);

AT(kiln_target, kind, 8);
TAKES(kiln_target, 16);

AT(kiln_explanation_info, hit, 8);
AT(kiln_explanation_info, origin, 12);
AT(kiln_explanation_info, key, 16);
AT(kiln_explanation_info, reason, 24);
AT(kiln_explanation_info, summary, 32);
GROWS(kiln_explanation_info, summary, 40, 1);

AT(kiln_prefetch_item, arch, 8);
AT(kiln_prefetch_item, kind, 16);
TAKES(kiln_prefetch_item, 24);

AT(kiln_prefetch_report, hits, 8);
AT(kiln_prefetch_report, compiled, 16);
AT(kiln_prefetch_report, failures, 24);
GROWS(kiln_prefetch_report, failures, 32, 1);

AT(kiln_dim3, y, 4);
AT(kiln_dim3, z, 8);
TAKES(kiln_dim3, 12);

AT(kiln_launch_config, grid, 8);
AT(kiln_launch_config, block, 20);
AT(kiln_launch_config, shared_bytes, 32);
AT(kiln_launch_config, cooperative, 36);
AT(kiln_launch_config, cluster, 40);
AT(kiln_launch_config, preferred_cluster, 52);
AT(kiln_launch_config, cluster_scheduling, 64);
AT(kiln_launch_config, programmatic_serialization, 68);
AT(kiln_launch_config, has_priority, 72);
AT(kiln_launch_config, priority, 76);
GROWS(kiln_launch_config, priority, 80, 1);

AT(kiln_kernel_attributes, registers, 8);
AT(kiln_kernel_attributes, shared_bytes, 12);
AT(kiln_kernel_attributes, local_bytes, 16);
AT(kiln_kernel_attributes, constant_bytes, 20);
AT(kiln_kernel_attributes, max_threads_per_block, 24);
AT(kiln_kernel_attributes, max_dynamic_shared_bytes, 28);
AT(kiln_kernel_attributes, required_cluster, 32);
AT(kiln_kernel_attributes, binary_version, 44);
GROWS(kiln_kernel_attributes, binary_version, 48, 1);

// The numbers of the enumerators.

IS(KILN_OK, 0);
IS(KILN_ERROR_INVALID_ARGUMENT, 1);
IS(KILN_ERROR_INVALID_SETTING, 2);
IS(KILN_ERROR_INVALID_OPTION, 3);
IS(KILN_ERROR_UNKNOWN_ARCH, 4);
IS(KILN_ERROR_UNKNOWN_KERNEL, 5);
IS(KILN_ERROR_HEADER_NOT_FOUND, 6);
IS(KILN_ERROR_COMPILE_FAILED, 7);
IS(KILN_ERROR_LINK_FAILED, 8);
IS(KILN_ERROR_NOT_CACHED, 9);
IS(KILN_ERROR_CANCELLED, 10);
IS(KILN_ERROR_QUEUE_FULL, 11);
IS(KILN_ERROR_TIMED_OUT, 12);
IS(KILN_ERROR_WORKER_FAILED, 13);
IS(KILN_ERROR_COMPILER_MISSING, 14);
IS(KILN_ERROR_DRIVER_MISSING, 15);
IS(KILN_ERROR_DRIVER_FAILED, 16);
IS(KILN_ERROR_CAPTURING, 17);
IS(KILN_ERROR_ARGUMENT_MISMATCH, 18);
IS(KILN_ERROR_CACHE_UNUSABLE, 19);
IS(KILN_ERROR_TOO_LARGE, 20);
IS(KILN_ERROR_NOT_FOUND, 21);
IS(KILN_ERROR_AMBIGUOUS, 22);
IS(KILN_ERROR_IO_FAILED, 23);
IS(KILN_ERROR_OUT_OF_MEMORY, 100);
IS(KILN_ERROR_INTERNAL, 101);

IS(KILN_IMAGE_CUBIN, 0);
IS(KILN_IMAGE_PTX, 1);
IS(KILN_IMAGE_LTOIR, 2);
IS(KILN_IMAGE_OPTIXIR, 3);
IS(KILN_IMAGE_FATBIN, 4);

IS(KILN_ORIGIN_COMPILED, 0);
IS(KILN_ORIGIN_MEMORY, 1);
IS(KILN_ORIGIN_LOCAL, 2);
IS(KILN_ORIGIN_BUNDLE, 3);

IS(KILN_MODE_UNSET, 0);
IS(KILN_MODE_JIT, 1);
IS(KILN_MODE_WARN, 2);
IS(KILN_MODE_CACHE_ONLY, 3);

IS(KILN_LOG_UNSET, 0);
IS(KILN_LOG_OFF, 1);
IS(KILN_LOG_WARN, 2);
IS(KILN_LOG_INFO, 3);
IS(KILN_LOG_DEBUG, 4);

IS(KILN_SWITCH_UNSET, 0);
IS(KILN_SWITCH_ON, 1);
IS(KILN_SWITCH_OFF, 2);

IS(KILN_EVENT_HIT, 0);
IS(KILN_EVENT_MISS, 1);
IS(KILN_EVENT_COMPILE_BEGIN, 2);
IS(KILN_EVENT_COMPILE_END, 3);
IS(KILN_EVENT_STORE, 4);
IS(KILN_EVENT_NOT_STORED, 5);
IS(KILN_EVENT_LOAD, 6);
IS(KILN_EVENT_LAUNCH_FAILED, 7);

IS(KILN_WORKERS_NONE, -1);
IS(KILN_WORKERS_AUTOMATIC, -2);

IS(KILN_TOOL_COMPILER, 0);
IS(KILN_TOOL_DRIVER, 1);
IS(KILN_TOOL_LINKER, 2);
IS(KILN_TOOL_PACKER, 3);
IS(KILN_TOOL_WORKER, 4);

IS(KILN_CLUSTER_SCHEDULING_UNSET, 0);
IS(KILN_CLUSTER_SCHEDULING_SPREAD, 1);
IS(KILN_CLUSTER_SCHEDULING_LOAD_BALANCING, 2);

// The callbacks and functions: one may be declared again only where it is the same.

extern kiln_log_callback kiln_test_log;
extern void (*kiln_test_log)(void* user, kiln_log_level level, const char* text);
extern kiln_observer kiln_test_observer;
extern void (*kiln_test_observer)(void* user, const kiln_event* event);
extern kiln_prefetch_callback kiln_test_prefetch;
extern int32_t (*kiln_test_prefetch)(void* user, size_t index, const kiln_artifact* artifact,
                                     const kiln_error* error, size_t done, size_t total);

uint32_t kiln_api_version(void);
kiln_code kiln_error_code(const kiln_error* error);
const char* kiln_error_code_name(const kiln_error* error);
const char* kiln_error_message(const kiln_error* error);
const char* kiln_error_log(const kiln_error* error);
int32_t kiln_error_vendor_code(const kiln_error* error);
void kiln_error_free(kiln_error* error);
kiln_error* kiln_header_set_make(const kiln_header* headers, size_t count, kiln_header_set** set);
void kiln_header_set_free(kiln_header_set* set);
const kiln_header_set* kiln_device_headers(void);
const kiln_header_set* kiln_standard_headers(void);
kiln_error* kiln_program_make(const kiln_program_spec* spec, kiln_program** program);
kiln_error* kiln_program_with_variant(const kiln_program* program, const char* name,
                                      kiln_program** chosen);
void kiln_program_free(kiln_program* program);
kiln_error* kiln_runtime_open(const kiln_runtime_options* options, kiln_runtime** runtime);
void kiln_runtime_close(kiln_runtime* runtime);
kiln_error* kiln_runtime_set_mode(kiln_runtime* runtime, kiln_mode mode);
kiln_error* kiln_runtime_check_cache(const kiln_runtime* runtime);
kiln_error* kiln_runtime_get_counters(const kiln_runtime* runtime, kiln_counters* counters);
kiln_error* kiln_runtime_get_remotes(const kiln_runtime* runtime, int32_t reach,
                                     kiln_remotes** remotes, size_t* count);
kiln_error* kiln_remotes_get_info(const kiln_remotes* remotes, size_t index,
                                  kiln_remote_info* info);
void kiln_remotes_free(kiln_remotes* remotes);
kiln_error* kiln_runtime_availability(const kiln_runtime* runtime, kiln_tool tool,
                                      kiln_availability** availability);
kiln_error* kiln_availability_get_info(const kiln_availability* availability,
                                       kiln_availability_info* info);
void kiln_availability_free(kiln_availability* availability);
kiln_error* kiln_runtime_compile(kiln_runtime* runtime, const kiln_program* program,
                                 const char* arch, kiln_image_kind kind, kiln_artifact** artifact);
kiln_error* kiln_artifact_get_info(const kiln_artifact* artifact, kiln_artifact_info* info);
kiln_error* kiln_artifact_get_kernel(const kiln_artifact* artifact, size_t index,
                                     kiln_kernel_info* info);
void kiln_artifact_free(kiln_artifact* artifact);
kiln_error* kiln_runtime_link(kiln_runtime* runtime, const kiln_link_spec* spec,
                              kiln_artifact** artifact);
kiln_error* kiln_runtime_fatbin(kiln_runtime* runtime, const kiln_program* program,
                                const kiln_target* targets, size_t count, kiln_artifact** artifact);
kiln_error* kiln_runtime_explain(kiln_runtime* runtime, const kiln_program* program,
                                 const char* arch, kiln_image_kind kind,
                                 kiln_explanation** explanation);
kiln_error* kiln_explanation_get_info(const kiln_explanation* explanation,
                                      kiln_explanation_info* info);
void kiln_explanation_free(kiln_explanation* explanation);
kiln_error* kiln_runtime_compile_async(kiln_runtime* runtime, const kiln_program* program,
                                       const char* arch, kiln_image_kind kind, int32_t priority,
                                       kiln_compiling** compiling);
kiln_error* kiln_compiling_wait(const kiln_compiling* compiling, uint64_t patience, int32_t* ready);
kiln_error* kiln_compiling_get(const kiln_compiling* compiling, kiln_artifact** artifact);
kiln_error* kiln_compiling_cancel(const kiln_compiling* compiling);
void kiln_compiling_free(kiln_compiling* compiling);
kiln_error* kiln_runtime_prefetch(kiln_runtime* runtime, const kiln_prefetch_item* items,
                                  size_t count, kiln_prefetch_callback progress, void* user,
                                  kiln_prefetch_report* report);
kiln_error* kiln_runtime_kernel(kiln_runtime* runtime, const kiln_program* program,
                                const char* expression, kiln_kernel** kernel);
kiln_error* kiln_runtime_kernel_for_target(kiln_runtime* runtime, const kiln_program* program,
                                           const char* expression, const char* arch,
                                           kiln_image_kind kind, kiln_kernel** kernel);
void kiln_kernel_free(kiln_kernel* kernel);
kiln_error* kiln_kernel_get_info(const kiln_kernel* kernel, kiln_kernel_info* info);
kiln_error* kiln_kernel_launch(const kiln_kernel* kernel, void* stream,
                               const kiln_launch_config* config, const kiln_bytes* arguments,
                               size_t count);
kiln_error* kiln_kernel_get_attributes(const kiln_kernel* kernel,
                                       kiln_kernel_attributes* attributes);
kiln_error* kiln_kernel_blocks_per_multiprocessor(const kiln_kernel* kernel, uint32_t threads,
                                                  uint32_t dynamic_shared_bytes, uint32_t* blocks);
kiln_error* kiln_runtime_module(kiln_runtime* runtime, const kiln_program* program,
                                kiln_module** module);
kiln_error* kiln_runtime_module_of_artifact(kiln_runtime* runtime, const kiln_artifact* artifact,
                                            kiln_module** module);
kiln_error* kiln_runtime_module_of_image(kiln_runtime* runtime, kiln_bytes image, const char* name,
                                         kiln_module** module);
kiln_error* kiln_module_kernel(const kiln_module* module, const char* name, kiln_kernel** kernel);
kiln_error* kiln_module_variable(const kiln_module* module, const char* name, uint64_t* address,
                                 size_t* size);
void kiln_module_free(kiln_module* module);
