// Where the fields of the structures lie: what a program that was built before relies on. One that is added
// comes behind these, and where none of them ends in padding, it lies behind what that program was built
// with. Compiling this file is the test.

#include <stddef.h>

#include "kiln/c_api.h"

#define AT(type, field, offset) \
  typedef char type##_##field##_lies_at_##offset[offsetof(type, field) == (offset) ? 1 : -1]
#define ENDS_WITH(type, field)          \
  typedef char type##_ends_with_##field \
      [offsetof(type, field) + sizeof(((type*)0)->field) == sizeof(type) ? 1 : -1]
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
ENDS_WITH(kiln_program_spec, variant_count);
TAKES(kiln_program_spec, 112);

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
ENDS_WITH(kiln_variant_spec, kernel_count);
TAKES(kiln_variant_spec, 72);

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
ENDS_WITH(kiln_runtime_options, observer_user);
TAKES(kiln_runtime_options, 192);

AT(kiln_event, kind, 8);
AT(kiln_event, origin, 12);
AT(kiln_event, program, 16);
AT(kiln_event, arch, 24);
AT(kiln_event, key, 32);
AT(kiln_event, milliseconds, 40);
AT(kiln_event, detail, 48);
ENDS_WITH(kiln_event, detail);
TAKES(kiln_event, 56);

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
ENDS_WITH(kiln_counters, loads);
TAKES(kiln_counters, 104);

AT(kiln_availability_info, available, 8);
AT(kiln_availability_info, description, 16);
AT(kiln_availability_info, reason, 24);
AT(kiln_availability_info, path, 32);
ENDS_WITH(kiln_availability_info, path);
TAKES(kiln_availability_info, 40);

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
ENDS_WITH(kiln_artifact_info, kernel_count);
TAKES(kiln_artifact_info, 88);

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
ENDS_WITH(kiln_kernel_info, params);
TAKES(kiln_kernel_info, 72);

AT(kiln_link_spec, name, 8);
AT(kiln_link_spec, inputs, 16);
AT(kiln_link_spec, input_count, 24);
AT(kiln_link_spec, arch, 32);
AT(kiln_link_spec, kind, 40);
AT(kiln_link_spec, options, 48);
AT(kiln_link_spec, option_count, 56);
AT(kiln_link_spec, kernels, 64);
AT(kiln_link_spec, kernel_count, 72);
ENDS_WITH(kiln_link_spec, kernel_count);
TAKES(kiln_link_spec, 80);

AT(kiln_target, kind, 8);
TAKES(kiln_target, 16);

AT(kiln_explanation_info, hit, 8);
AT(kiln_explanation_info, origin, 12);
AT(kiln_explanation_info, key, 16);
AT(kiln_explanation_info, reason, 24);
AT(kiln_explanation_info, summary, 32);
ENDS_WITH(kiln_explanation_info, summary);
TAKES(kiln_explanation_info, 40);

AT(kiln_prefetch_item, arch, 8);
AT(kiln_prefetch_item, kind, 16);
TAKES(kiln_prefetch_item, 24);

AT(kiln_prefetch_report, hits, 8);
AT(kiln_prefetch_report, compiled, 16);
AT(kiln_prefetch_report, failures, 24);
ENDS_WITH(kiln_prefetch_report, failures);
TAKES(kiln_prefetch_report, 32);

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
ENDS_WITH(kiln_launch_config, priority);
TAKES(kiln_launch_config, 80);

AT(kiln_kernel_attributes, registers, 8);
AT(kiln_kernel_attributes, shared_bytes, 12);
AT(kiln_kernel_attributes, local_bytes, 16);
AT(kiln_kernel_attributes, constant_bytes, 20);
AT(kiln_kernel_attributes, max_threads_per_block, 24);
AT(kiln_kernel_attributes, max_dynamic_shared_bytes, 28);
AT(kiln_kernel_attributes, required_cluster, 32);
AT(kiln_kernel_attributes, binary_version, 44);
ENDS_WITH(kiln_kernel_attributes, binary_version);
TAKES(kiln_kernel_attributes, 48);
