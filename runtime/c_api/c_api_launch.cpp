#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "c_api/c_api_values.h"
#include "kiln/c_api.h"

using namespace kiln;
using namespace kiln::c_api;

kiln_kernel::kiln_kernel(Runtime owner, Kernel loaded)
    : runtime(std::move(owner)), kernel(loaded), parameters(kernel.info()) {}

namespace {

/// Sets a y and a z that were left out to 1.
Dim3 dim3_of(const kiln_dim3& size) {
  if (size.x == 0) return {size.x, size.y, size.z};
  return {size.x, std::max(size.y, 1U), std::max(size.z, 1U)};
}

LaunchConfig launch_config(const kiln_launch_config& config) {
  // Names all, so that one that is added is not forgotten.
  const auto& [size, grid, block, shared_bytes, cooperative, cluster, preferred_cluster, scheduling,
               serialization, has_priority, priority] = config;
  return {.grid = dim3_of(grid),
          .block = dim3_of(block),
          .shared_bytes = shared_bytes,
          .cluster = dim3_of(cluster),
          .preferred_cluster = dim3_of(preferred_cluster),
          .cluster_scheduling =
              optional_enumerator(cluster_schedulings, scheduling, "cluster_scheduling"),
          .cooperative = cooperative != 0,
          .programmatic_serialization = serialization != 0,
          .priority = has_priority != 0 ? std::optional<int>(priority) : std::nullopt};
}

// From the heap only where there are many.
using ArgumentBytes = fmt::basic_memory_buffer<std::span<const std::byte>, Args::inline_count>;

void read_arguments(std::span<const kiln_bytes> arguments, ArgumentBytes& bytes) {
  for (std::size_t position = 0; position < arguments.size(); ++position) {
    const auto& [data, size] = arguments[position];
    if (data == nullptr && size != 0) refuse(fmt::format("argument {} is null", position + 1));
    bytes.push_back({static_cast<const std::byte*>(data), size});
  }
}

kiln_dim3 c_dim3_of(const Dim3& size) { return {size.x, size.y, size.z}; }

}  // namespace

kiln_error* kiln_runtime_kernel(kiln_runtime* runtime, const kiln_program* program,
                                const char* expression, kiln_kernel** kernel) {
  return make_handle(kernel, "kernel", [&] {
    auto& asked = runtime_of(runtime);
    return kiln_kernel(asked,
                       asked.kernel(program_of(program), &given(expression, "expression")).value());
  });
}

kiln_error* kiln_runtime_kernel_for_target(kiln_runtime* runtime, const kiln_program* program,
                                           const char* expression, const char* arch,
                                           kiln_image_kind kind, kiln_kernel** kernel) {
  return make_handle(kernel, "kernel", [&] {
    auto& asked = runtime_of(runtime);
    auto found =
        asked.kernel(program_of(program), &given(expression, "expression"), target_of(arch, kind));
    return kiln_kernel(asked, found.value());
  });
}

void kiln_kernel_free(kiln_kernel* kernel) { delete kernel; }

kiln_error* kiln_kernel_get_info(const kiln_kernel* kernel, kiln_kernel_info* info) {
  return guarded([&] {
    const auto& [runtime, told, parameters] = given(kernel, "kernel");
    write(info, "info", info_of(told.info(), parameters, told.arch(), told.image_kind()));
  });
}

kiln_error* kiln_kernel_launch(const kiln_kernel* kernel, void* stream,
                               const kiln_launch_config* config, const kiln_bytes* arguments,
                               size_t count) {
  return guarded([&] {
    const Kernel& launched = given(kernel, "kernel").kernel;
    const LaunchConfig how = launch_config(read(config, "config"));
    ArgumentBytes bytes;
    read_arguments(given_list(arguments, count, "arguments"), bytes);
    launched.launch_bytes(static_cast<CUstream>(stream), how, {bytes.data(), bytes.size()}).value();
  });
}

kiln_error* kiln_kernel_get_attributes(const kiln_kernel* kernel,
                                       kiln_kernel_attributes* attributes) {
  return guarded([&] {
    const KernelAttributes told = given(kernel, "kernel").kernel.attributes().value();
    write(attributes, "attributes",
          kiln_kernel_attributes{.size = sizeof(kiln_kernel_attributes),
                                 .registers = told.registers,
                                 .shared_bytes = told.shared_bytes,
                                 .local_bytes = told.local_bytes,
                                 .constant_bytes = told.constant_bytes,
                                 .max_threads_per_block = told.max_threads_per_block,
                                 .max_dynamic_shared_bytes = told.max_dynamic_shared_bytes,
                                 .required_cluster = c_dim3_of(told.required_cluster),
                                 .binary_version = told.binary_version});
  });
}

kiln_error* kiln_kernel_blocks_per_multiprocessor(const kiln_kernel* kernel, uint32_t threads,
                                                  uint32_t dynamic_shared_bytes, uint32_t* blocks) {
  return guarded([&] {
    given(blocks, "blocks") = given(kernel, "kernel")
                                  .kernel.blocks_per_multiprocessor(threads, dynamic_shared_bytes)
                                  .value();
  });
}

kiln_error* kiln_runtime_module(kiln_runtime* runtime, const kiln_program* program,
                                kiln_module** module) {
  return make_handle(module, "module", [&] {
    auto& asked = runtime_of(runtime);
    return kiln_module{asked, asked.module(program_of(program)).value()};
  });
}

kiln_error* kiln_runtime_module_of_artifact(kiln_runtime* runtime, const kiln_artifact* artifact,
                                            kiln_module** module) {
  return make_handle(module, "module", [&] {
    auto& asked = runtime_of(runtime);
    return kiln_module{asked, asked.module(given(artifact, "artifact").artifact).value()};
  });
}

kiln_error* kiln_runtime_module_of_image(kiln_runtime* runtime, kiln_bytes image, const char* name,
                                         kiln_module** module) {
  return make_handle(module, "module", [&] {
    auto& asked = runtime_of(runtime);
    const auto bytes = given_bytes(image, "image");
    std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return kiln_module{asked,
                       asked.module_of_image(std::move(copy), given_text(name, "name")).value()};
  });
}

kiln_error* kiln_module_kernel(const kiln_module* module, const char* name, kiln_kernel** kernel) {
  return make_handle(kernel, "kernel", [&] {
    const auto& [runtime, loaded] = given(module, "module");
    return kiln_kernel(runtime, loaded.kernel(&given(name, "name")).value());
  });
}

kiln_error* kiln_module_variable(const kiln_module* module, const char* name, uint64_t* address,
                                 size_t* size) {
  return guarded([&] {
    auto& address_told = given(address, "address");
    auto& size_told = given(size, "size");
    const Variable variable = given(module, "module").module.variable(&given(name, "name")).value();
    address_told = variable.address();
    size_told = variable.size();
  });
}

void kiln_module_free(kiln_module* module) { delete module; }
