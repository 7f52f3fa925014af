// What a configuration asks for beyond grid and block, as the driver receives it: compared with cuda.h's
// own names and fields.

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "config_fields.h"
#include "fake_driver.h"
#include "kiln/launch.h"
#include "support/differing_fields.h"

namespace kiln {
namespace {

using testing::HasSubstr;

const Program& program() {
  static const Program made =
      make_program("extern \"C\" __global__ void fill(float* x) { *x = 1; }", {"fill"});
  return made;
}

CUevent some_event() { return reinterpret_cast<CUevent>(0x7700); }

class AttributesTest : public FakeDriverTest {
 protected:
  [[nodiscard]] Kernel kernel() { return runtime_.kernel(program(), "fill").value(); }

  Outcome launch(LaunchConfig config) {
    config.grid = {8, 4};
    config.block = {32};
    launched_fields_.note(test::fields_of(plain_), test::fields_of(config));
    return kernel().launch(reinterpret_cast<CUstream>(0x42), config, nullptr);
  }

  /// The attributes that the driver receives for this configuration.
  std::vector<CUlaunchAttribute> received_for(const LaunchConfig& config) {
    const auto launched = launch(config);
    EXPECT_TRUE(launched.has_value()) << launched.error().message;
    const std::string bytes = received_attributes(launch_count_() - 1);
    std::vector<CUlaunchAttribute> attributes(bytes.size() / sizeof(CUlaunchAttribute));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(attributes.data()));
    return attributes;
  }

  CUlaunchAttributeValue value_for(const LaunchConfig& config, CUlaunchAttributeID id) {
    for (const CUlaunchAttribute& attribute : received_for(config)) {
      if (attribute.id == id) return attribute.value;
    }
    ADD_FAILURE() << "the driver did not receive attribute " << id;
    return {};
  }

  void clusters_arrive();
  void both_ends_of_a_dependent_launch_arrive();
  void preferences_arrive();

  Runtime runtime_ = open_runtime();
  const LaunchConfig plain_{};
  test::ChangedFields<decltype(test::fields_of(plain_))> launched_fields_;
};

TEST_F(AttributesTest, StreamConstantsAreTheHeaders) {
  EXPECT_EQ(legacy_default_stream, CU_STREAM_LEGACY);
  EXPECT_EQ(per_thread_default_stream, CU_STREAM_PER_THREAD);
}

TEST_F(AttributesTest, WithoutAnyTheDriverIsCalledPlainly) {
  fail_("cuLaunchKernelEx", CUDA_ERROR_UNKNOWN);
  EXPECT_TRUE(received_for({}).empty());
}

TEST_F(AttributesTest, GridBlockSharedMemoryAndStreamArriveBesideThem) {
  ASSERT_TRUE(launch({.shared_bytes = 512, .cooperative = true}).has_value());
  const FakeCudaLaunch seen = launch_(launch_count_() - 1);
  EXPECT_THAT(seen.grid, testing::ElementsAre(8, 4, 1));
  EXPECT_THAT(seen.block, testing::ElementsAre(32, 1, 1));
  EXPECT_EQ(seen.shared_bytes, 512U);
  EXPECT_EQ(seen.stream, reinterpret_cast<void*>(0x42));
}

void AttributesTest::clusters_arrive() {
  const auto cluster =
      value_for({.cluster = {4, 2}}, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
  EXPECT_EQ(cluster.x, 4U);
  EXPECT_EQ(cluster.y, 2U);
  EXPECT_EQ(cluster.z, 1U);
  const auto preferred = value_for({.cluster = {2, 1}, .preferred_cluster = {4, 2}},
                                   CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION)
                             .preferredClusterDim;
  EXPECT_EQ(preferred.x, 4U);
  EXPECT_EQ(preferred.y, 2U);
  EXPECT_EQ(preferred.z, 1U);
  const auto policy = [&](ClusterScheduling scheduling) {
    return value_for({.cluster = {2}, .cluster_scheduling = scheduling},
                     CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        .clusterSchedulingPolicyPreference;
  };
  EXPECT_EQ(policy(ClusterScheduling::spread), CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
  EXPECT_EQ(policy(ClusterScheduling::load_balancing), CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
}

void AttributesTest::both_ends_of_a_dependent_launch_arrive() {
  EXPECT_EQ(value_for({.programmatic_serialization = true},
                      CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
                .programmaticStreamSerializationAllowed,
            1);
  for (const bool at_start : {false, true}) {
    const auto event = value_for({.programmatic_event = {some_event(), at_start}},
                                 CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
                           .programmaticEvent;
    EXPECT_EQ(event.event, some_event());
    EXPECT_EQ(event.flags, CU_EVENT_RECORD_DEFAULT);
    EXPECT_EQ(event.triggerAtBlockStart, at_start ? 1 : 0);
  }
  const auto completion =
      value_for({.completion_event = some_event()}, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
          .launchCompletionEvent;
  EXPECT_EQ(completion.event, some_event());
  EXPECT_EQ(completion.flags, CU_EVENT_RECORD_DEFAULT);
}

void AttributesTest::preferences_arrive() {
  EXPECT_EQ(value_for({.cooperative = true}, CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative, 1);
  EXPECT_EQ(value_for({.priority = -5}, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, -5);
  EXPECT_EQ(value_for({.priority = 0}, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, 0);
  const auto domain = [&](MemorySyncDomain value) {
    return value_for({.memory_sync_domain = value}, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN)
        .memSyncDomain;
  };
  EXPECT_EQ(domain(MemorySyncDomain::ordinary), CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT);
  EXPECT_EQ(domain(MemorySyncDomain::remote), CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  const auto map = value_for({.memory_sync_domain_map = MemorySyncDomainMap{2, 3}},
                             CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
                       .memSyncDomainMap;
  EXPECT_EQ(map.default_, 2);
  EXPECT_EQ(map.remote, 3);
  EXPECT_EQ(value_for({.shared_carveout = std::uint8_t{75}},
                      CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
                .sharedMemCarveout,
            75U);
}

TEST_F(AttributesTest, EachArrives) {
  ASSERT_TRUE(launch({.shared_bytes = 512}).has_value());
  clusters_arrive();
  both_ends_of_a_dependent_launch_arrive();
  preferences_arrive();
  EXPECT_TRUE(launched_fields_.unchanged().empty()) << "these want a row";
}

TEST_F(AttributesTest, AllOfThemArriveTogetherOnceEach) {
  const LaunchConfig all{.shared_bytes = 512,
                         .cluster = {2},
                         .preferred_cluster = {4},
                         .cluster_scheduling = ClusterScheduling::spread,
                         .cooperative = true,
                         .programmatic_serialization = true,
                         .programmatic_event = {some_event(), true},
                         .completion_event = some_event(),
                         .priority = 1,
                         .memory_sync_domain = MemorySyncDomain::remote,
                         .memory_sync_domain_map = MemorySyncDomainMap{0, 1},
                         .shared_carveout = std::uint8_t{50}};
  const auto attributes = received_for(all);
  EXPECT_TRUE(launched_fields_.unchanged().empty()) << "these are wanted above";
  std::vector<int> ids;
  for (const auto& attribute : attributes) ids.push_back(attribute.id);
  EXPECT_THAT(ids, testing::UnorderedElementsAre(2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14));
}

TEST_F(AttributesTest, ADriverThatIsTooOldIsToldOf) {
  set("FAKE_CUDA_VERSION", "12040");
  runtime_ = open_runtime();
  const std::size_t before = launch_count_();
  const auto launched = launch({.cluster = {2}, .preferred_cluster = {4}});
  ASSERT_FALSE(launched.has_value());
  EXPECT_EQ(launched.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(launched.error().message,
            "kernel 'fill': a preferred cluster needs a driver of CUDA 12.8 or newer; this one is "
            "12.4. Update the driver, or launch without.");
  EXPECT_TRUE(launch({.cluster = {2}}).has_value());
  EXPECT_EQ(launch_count_(), before + 1);
}

TEST_F(AttributesTest, WhatNoDeviceTakesIsRefusedBeforeTheDriverSeesIt) {
  const auto refusal = [&](const LaunchConfig& config) {
    const auto launched = launch(config);
    EXPECT_FALSE(launched.has_value());
    return launched ? std::string() : launched.error().message;
  };
  EXPECT_EQ(refusal({.cluster = {3}}),
            "kernel 'fill': grid 8x4x1 is not divisible by the cluster 3x1x1");
  EXPECT_EQ(refusal({.cluster = {2, 0}}), "kernel 'fill': cluster 2x0x1: no dimension may be 0");
  EXPECT_THAT(refusal({.preferred_cluster = {2}}), HasSubstr("of 2x1x1 needs a cluster"));
  EXPECT_THAT(refusal({.cluster = {4}, .preferred_cluster = {6}}),
              HasSubstr("the preferred cluster 6x1x1 is no multiple of the cluster 4x1x1"));
  EXPECT_THAT(refusal({.cluster = {8, 4}}), HasSubstr("a cluster of 32 blocks: a cluster has 16"));
  EXPECT_THAT(refusal({.shared_carveout = std::uint8_t{101}}), HasSubstr("101 per cent"));
  EXPECT_EQ(launch_count_(), 0U);
}

TEST_F(AttributesTest, LargeClustersAreAllowedTheKernelOnce) {
  ASSERT_TRUE(launch({.cluster = {4, 2}}).has_value());
  EXPECT_EQ(attribute_sets_(), 0U);
  ASSERT_TRUE(launch({.cluster = {8, 2}}).has_value());
  ASSERT_TRUE(launch({.cluster = {4, 4}}).has_value());
  EXPECT_EQ(attribute_sets_(), 1U);
}

TEST_F(AttributesTest, ADeviceWithoutClustersSaysSo) {
  set("FAKE_CUDA_ARCH", "89");
  runtime_ = open_runtime();
  const auto launched = launch({.cluster = {2}});
  ASSERT_FALSE(launched.has_value());
  EXPECT_THAT(launched.error().message, HasSubstr("compute capability 9.0 or above"));
}

TEST_F(AttributesTest, ACooperativeLaunchThatIsTooLargeIsToldHowLargeItMayBe) {
  fail_("cuLaunchKernelEx", CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  const auto launched = launch({.cooperative = true});
  ASSERT_FALSE(launched.has_value());
  EXPECT_THAT(launched.error().message, HasSubstr("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720); "
                                                  "the device runs 8448 blocks of this kernel"));
}

}  // namespace
}  // namespace kiln
