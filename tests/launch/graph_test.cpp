// Kernel nodes of explicit graphs: what the driver receives for them.

#include "kiln/graph.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "config_fields.h"
#include "fake_driver.h"
#include "support/differing_fields.h"

namespace kiln {
namespace {

using testing::HasSubstr;

const Program& program() {
  static const Program made = make_program(
      "extern \"C\" __global__ void fill(float* x, float y) { *x = y; }\n"
      "extern \"C\" __global__ void count(int* x, long y) { *x = y; }",
      {"fill", "count"});
  return made;
}

class GraphTest : public FakeDriverTest {
 protected:
  Kernel kernel(const char* name = "fill") { return runtime_.kernel(program(), name).value(); }

  Result<CUgraphNode> add(const LaunchConfig& config, const Args& args) {
    return add_kernel_node(graph_, {}, kernel(), config, args);
  }

  /// What the node launches with.
  FakeCudaLaunch run(CUgraphNode node, bool executable = false) {
    run_node_(node, executable);
    return launch_(launch_count_() - 1);
  }
  [[nodiscard]] std::string last_param(std::size_t position) const {
    return received(launch_count_() - 1, position);
  }

  Runtime runtime_ = open_runtime();
  const CUgraph graph_ = reinterpret_cast<CUgraph>(0x10);
  const CUgraphExec executable_ = reinterpret_cast<CUgraphExec>(0x20);
  float* const pointer_ = reinterpret_cast<float*>(0x7f1234567890);
  const LaunchConfig config_{.grid = {2, 3}, .block = {32}, .shared_bytes = 128};
};

TEST_F(GraphTest, ANodeIsTheLaunchThatItWasMadeOf) {
  const auto node = add(config_, Args(pointer_, 1.5F));
  ASSERT_TRUE(node.has_value()) << node.error().message;
  const FakeCudaLaunch seen = run(*node);
  EXPECT_STREQ(seen.kernel, "fill");
  EXPECT_THAT(seen.grid, testing::ElementsAre(2, 3, 1));
  EXPECT_THAT(seen.block, testing::ElementsAre(32, 1, 1));
  EXPECT_EQ(seen.shared_bytes, 128U);
  EXPECT_EQ(last_param(0), bytes_of(pointer_));
  EXPECT_EQ(last_param(1), bytes_of(1.5F));
}

TEST_F(GraphTest, ANodeCanBeSetAnew) {
  const auto node = add(config_, Args(pointer_, 1.5F)).value();
  const auto set = set_kernel_node(node, kernel("count"), {.block = {64}}, Args(pointer_, 7L));
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_STREQ(run(node).kernel, "count");
  EXPECT_EQ(last_param(1), bytes_of(7L));
  EXPECT_STREQ(run(node, true).kernel, "fill");
}

TEST_F(GraphTest, AnExecutableGraphIsUpdatedFromTheSameArguments) {
  Args args(pointer_, 1.5F);
  const auto node = add(config_, args).value();
  for (int step = 0; step < 3; ++step) {
    const auto value = static_cast<float>(step);
    ASSERT_TRUE(args.set(1, value).has_value());
    ASSERT_TRUE(set_kernel_node(executable_, node, kernel(), config_, args).has_value());
    run(node, true);
    EXPECT_EQ(last_param(0), bytes_of(pointer_));
    EXPECT_EQ(last_param(1), bytes_of(value));
  }
  run(node);
  EXPECT_EQ(last_param(1), bytes_of(1.5F));
}

TEST_F(GraphTest, AttributesAreTheNodes) {
  LaunchConfig config = config_;
  config.cluster = {2};
  config.priority = -1;
  run(add(config, Args(pointer_, 1.0F)).value());
  const std::string bytes = received_attributes(launch_count_() - 1);
  std::array<CUlaunchAttribute, 2> attributes;
  ASSERT_EQ(bytes.size(), sizeof(attributes));
  std::memcpy(static_cast<void*>(attributes.data()), bytes.data(), bytes.size());
  EXPECT_EQ(attributes[0].id, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(attributes[0].value.clusterDim.x, 2U);
  EXPECT_EQ(attributes[1].id, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY);
  EXPECT_EQ(attributes[1].value.priority, -1);
}

TEST_F(GraphTest, WhatIsForStreamsIsRefused) {
  LaunchConfig config = config_;
  config.programmatic_serialization = true;
  const auto node = add(config, Args(pointer_, 1.0F));
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(node.error().message,
            "kernel 'fill': programmatic stream serialization is for launches into streams; a node "
            "of a graph has edges for that");
  EXPECT_EQ(node_count_(), 0U);
}

// As cuda.h says of each: "valid for graph nodes", or not.
TEST_F(GraphTest, EachAttributeIsForNodesOrRefused) {
  const auto event = reinterpret_cast<CUevent>(0x30);
  const LaunchConfig plain{};
  test::ChangedFields<decltype(test::fields_of(plain))> fields;
  const auto is_for_nodes = [&](LaunchConfig config) {
    config.grid = {8, 4};
    config.block = {32};
    fields.note(test::fields_of(plain), test::fields_of(config));
    return add(config, Args(pointer_, 1.0F)).has_value();
  };
  EXPECT_TRUE(is_for_nodes({.shared_bytes = 512}));
  EXPECT_TRUE(is_for_nodes({.cluster = {2}}));
  EXPECT_TRUE(is_for_nodes({.cluster = {2}, .preferred_cluster = {4}}));
  EXPECT_TRUE(is_for_nodes({.cluster_scheduling = ClusterScheduling::spread}));
  EXPECT_TRUE(is_for_nodes({.cooperative = true}));
  EXPECT_TRUE(is_for_nodes({.priority = 1}));
  EXPECT_TRUE(is_for_nodes({.memory_sync_domain = MemorySyncDomain::remote}));
  EXPECT_TRUE(is_for_nodes({.memory_sync_domain_map = MemorySyncDomainMap{0, 1}}));
  EXPECT_TRUE(is_for_nodes({.shared_carveout = std::uint8_t{50}}));
  EXPECT_FALSE(is_for_nodes({.programmatic_serialization = true}));
  EXPECT_FALSE(is_for_nodes({.programmatic_event = {event, true}}));
  EXPECT_FALSE(is_for_nodes({.completion_event = event}));
  EXPECT_TRUE(fields.unchanged().empty()) << "these want a row";
}

TEST_F(GraphTest, WhatALaunchRefusesIsRefused) {
  const auto wrong = add(config_, Args(pointer_, 1.0));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("argument 2 of 2 takes 4 bytes, but 8 bytes"));
  const auto empty = add({.grid = {0}}, Args(pointer_, 1.0F));
  ASSERT_FALSE(empty.has_value());
  EXPECT_THAT(empty.error().message, HasSubstr("no dimension may be 0"));
  const auto large = add({.shared_bytes = 60000}, Args(pointer_, 1.0F));
  EXPECT_TRUE(large.has_value()) << "raised as for a launch";
  EXPECT_EQ(node_count_(), 1U);
}

TEST_F(GraphTest, ANodeWhoseAttributesAreRefusedIsTakenBack) {
  fail_("cuGraphKernelNodeSetAttribute", CUDA_ERROR_INVALID_VALUE);
  LaunchConfig config = config_;
  config.priority = 100;
  const auto node = add(config, Args(pointer_, 1.0F));
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code, ErrorCode::driver_failed);
  EXPECT_EQ(node_count_(), 0U);
}

}  // namespace
}  // namespace kiln
