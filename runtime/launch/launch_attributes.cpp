#include "launch/launch_attributes.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln {
namespace {

struct Feature {
  CUlaunchAttributeID id;
  const char* words;
  int version;  ///< The first driver that may know it.
  bool of_nodes;
};

constexpr std::array features{
    Feature{CU_LAUNCH_ATTRIBUTE_COOPERATIVE, "a cooperative launch", 11070, true},
    Feature{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, "a cluster", 11080, true},
    Feature{CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, "a cluster scheduling policy",
            11080, true},
    Feature{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            "programmatic stream serialization", 11080, false},
    Feature{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, "a programmatic event", 11080, false},
    Feature{CU_LAUNCH_ATTRIBUTE_PRIORITY, "a priority", 11070, true},
    Feature{CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, "a memory synchronisation domain map", 12000,
            true},
    Feature{CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, "a memory synchronisation domain", 12000, true},
    Feature{CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, "a preferred cluster", 12080, true},
    Feature{CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, "a launch completion event", 12030, false},
    Feature{CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, "a shared memory carve-out",
            12040, true},
};

constexpr const Feature& feature_of(CUlaunchAttributeID id) {
  return *std::ranges::find(features, id, &Feature::id);
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Outcome check_feature(const KernelRecord& record, CUlaunchAttributeID id, AttributeUse use) {
  const Feature& feature = feature_of(id);
  const std::string& kernel = record.info.expression;
  if (use == AttributeUse::graph_node && !feature.of_nodes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel '{}': {} is for launches into streams; a node of a graph has "
                            "edges for that",
                            kernel, feature.words));
  }
  if (record.driver->version() >= feature.version) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("kernel '{}': {} needs a driver of CUDA {} or newer; this one is {}. "
                          "Update the driver, or launch without.",
                          kernel, feature.words, version_text(feature.version),
                          version_text(record.driver->version())));
}

template <class Size>
void set_size(Size& size, const Dim3& to) {
  size.x = to.x;
  size.y = to.y;
  size.z = to.z;
}

}  // namespace

template <CUlaunchAttributeID id>
CUlaunchAttributeValue& LaunchAttributes::add() noexcept {
  static_assert(feature_of(id).id == id && features.size() == most);
  constexpr int known_from = feature_of(id).version;
  newest_ = std::max(newest_, known_from);
  CUlaunchAttribute& attribute = values_[count_++];
  attribute = {};
  attribute.id = id;
  return attribute.value;
}

void LaunchAttributes::add_clusters(const LaunchConfig& config) noexcept {
  if (is_set(config.cluster)) {
    set_size(add<CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION>().clusterDim, config.cluster);
  }
  if (is_set(config.preferred_cluster)) {
    set_size(add<CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION>().preferredClusterDim,
             config.preferred_cluster);
  }
  if (config.cluster_scheduling) {
    add<CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE>()
        .clusterSchedulingPolicyPreference = *config.cluster_scheduling == ClusterScheduling::spread
                                                 ? CU_CLUSTER_SCHEDULING_POLICY_SPREAD
                                                 : CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
  }
}

void LaunchAttributes::add_dependencies(const LaunchConfig& config) noexcept {
  if (config.programmatic_serialization) {
    add<CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION>()
        .programmaticStreamSerializationAllowed = 1;
  }
  if (config.programmatic_event.event != nullptr) {
    auto& event = add<CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT>().programmaticEvent;
    event.event = config.programmatic_event.event;
    event.triggerAtBlockStart = config.programmatic_event.at_block_start ? 1 : 0;
  }
  if (config.completion_event != nullptr) {
    add<CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT>().launchCompletionEvent.event =
        config.completion_event;
  }
}

void LaunchAttributes::add_preferences(const LaunchConfig& config) noexcept {
  if (config.cooperative) add<CU_LAUNCH_ATTRIBUTE_COOPERATIVE>().cooperative = 1;
  if (config.priority) add<CU_LAUNCH_ATTRIBUTE_PRIORITY>().priority = *config.priority;
  if (config.memory_sync_domain) {
    add<CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN>().memSyncDomain =
        *config.memory_sync_domain == MemorySyncDomain::remote ? CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
                                                               : CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  }
  if (config.memory_sync_domain_map) {
    auto& map = add<CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP>().memSyncDomainMap;
    map.default_ = config.memory_sync_domain_map->ordinary;
    map.remote = config.memory_sync_domain_map->remote;
  }
  if (config.shared_carveout) {
    add<CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT>().sharedMemCarveout =
        *config.shared_carveout;
  }
}

LaunchAttributes::LaunchAttributes(const LaunchConfig& config) noexcept {
  add_clusters(config);
  add_dependencies(config);
  add_preferences(config);
}

Outcome LaunchAttributes::check(const KernelRecord& record, AttributeUse use) const {
  for (std::size_t index = 0; index < count_; ++index) {
    if (auto sound = check_feature(record, values_[index].id, use); !sound) return sound;
  }
  return {};
}

CUlaunchConfig driver_config(CUstream stream, const LaunchConfig& config,
                             LaunchAttributes& attributes) noexcept {
  CUlaunchConfig result{};
  set_sizes(result, config);
  result.hStream = stream;
  result.attrs = attributes.all().data();
  result.numAttrs = static_cast<unsigned>(attributes.all().size());
  return result;
}

}  // namespace kiln
