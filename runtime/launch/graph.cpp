#include "kiln/graph.h"

#include <utility>

#include <fmt/format.h>

#include "launch/access.h"
#include "launch/kernel_record.h"
#include "launch/launch_attributes.h"
#include "launch/launch_checks.h"

namespace kiln {
namespace {

CUDA_KERNEL_NODE_PARAMS_v2 node_params(const KernelRecord& record, const LaunchConfig& config,
                                       void** pointers) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  set_sizes(params, config);
  params.kernelParams = pointers;
  params.kern = record.kernel;  // And no CUfunction, so that the node takes the current context.
  return params;
}

Outcome check(const KernelRecord& record, const LaunchConfig& config, const Args& args,
              const detail::GivenArgs& given) {
  if (auto alive = check_alive(record); !alive) return alive;
  if (auto sound = check_fits(record, args); !sound) return sound;
  if (!takes(record, given)) return argument_error(record, given);
  if (auto ready = record.driver->ensure_context(record.device); !ready) return ready;
  return prepare_launch(record, config);
}

/// Calls `use` with the node's parameters, once everything is found to be in order.
template <class Use>
Outcome with_node_params(const KernelRecord& record, const LaunchConfig& config, const Args& args,
                         const char* what, const Use& use) {
  return ArgsAccess::with_given(args, [&](const detail::GivenArgs& given) -> Outcome {
    if (auto sound = check(record, config, args, given); !sound) return sound;
    const CUDA_KERNEL_NODE_PARAMS_v2 params = node_params(record, config, given.pointers);
    const CUresult result = use(params);
    if (result == CUDA_SUCCESS) return {};
    return record.driver->failure(
        fmt::format("kernel '{}': cannot {} a graph's node", record.info.expression, what), result);
  });
}

Outcome set_attributes(const KernelRecord& record, CUgraphNode node, LaunchAttributes& attributes) {
  for (const CUlaunchAttribute& attribute : attributes.all()) {
    const CUresult result = record.driver->functions().graph_kernel_node_set_attribute(
        node, attribute.id, &attribute.value);
    if (result == CUDA_SUCCESS) continue;
    return record.driver->failure(
        fmt::format("kernel '{}': the driver refuses attribute {} of a graph's node",
                    record.info.expression, static_cast<int>(attribute.id)),
        result);
  }
  return {};
}

}  // namespace

Result<CUgraphNode> add_kernel_node(CUgraph graph, std::span<const CUgraphNode> dependencies,
                                    const Kernel& kernel, const LaunchConfig& config,
                                    const Args& args) {
  const KernelRecord& record = KernelAccess::record(kernel);
  const auto& functions = record.driver->functions();
  LaunchAttributes attributes(config);
  if (auto sound = attributes.check(record, AttributeUse::graph_node); !sound)
    return tl::unexpected(std::move(sound.error()));
  CUgraphNode node = nullptr;
  auto added = with_node_params(record, config, args, "add", [&](const auto& params) {
    return functions.graph_add_kernel_node(&node, graph, dependencies.data(), dependencies.size(),
                                           &params);
  });
  if (!added) return tl::unexpected(std::move(added.error()));
  if (auto set = set_attributes(record, node, attributes); !set) {
    static_cast<void>(functions.graph_destroy_node(node));
    return tl::unexpected(std::move(set.error()));
  }
  return node;
}

Outcome set_kernel_node(CUgraphNode node, const Kernel& kernel, const LaunchConfig& config,
                        const Args& args) {
  const KernelRecord& record = KernelAccess::record(kernel);
  LaunchAttributes attributes(config);
  if (auto sound = attributes.check(record, AttributeUse::graph_node); !sound) return sound;
  auto set = with_node_params(record, config, args, "set", [&](const auto& params) {
    return record.driver->functions().graph_kernel_node_set_params(node, &params);
  });
  return set ? set_attributes(record, node, attributes) : set;
}

Outcome set_kernel_node(CUgraphExec executable, CUgraphNode node, const Kernel& kernel,
                        const LaunchConfig& config, const Args& args) {
  const KernelRecord& record = KernelAccess::record(kernel);
  return with_node_params(record, config, args, "set", [&](const auto& params) {
    return record.driver->functions().graph_exec_kernel_node_set_params(executable, node, &params);
  });
}

}  // namespace kiln
