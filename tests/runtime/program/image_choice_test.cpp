#include "program/image_choice.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace kiln {
namespace {

using Archs = std::vector<std::string>;

struct Device {
  int major;
  int minor;
  Archs runs;  ///< Of the architectures that were made, best first.
  std::string compiled;
};

const Archs made{"sm_70",   "sm_72",   "sm_75",   "sm_80",   "sm_86",   "sm_87",   "sm_88",
                 "sm_89",   "sm_90",   "sm_90a",  "sm_100",  "sm_100a", "sm_100f", "sm_101",
                 "sm_101a", "sm_101f", "sm_103",  "sm_103a", "sm_103f", "sm_110",  "sm_110a",
                 "sm_110f", "sm_120",  "sm_120a", "sm_120f", "sm_121",  "sm_121a", "sm_121f"};

const std::vector<Device> devices{
    {7, 0, {"sm_70"}, "sm_70"},
    {7, 5, {"sm_75", "sm_72", "sm_70"}, "sm_75"},
    {8, 0, {"sm_80"}, "sm_80"},
    {8, 6, {"sm_86", "sm_80"}, "sm_86"},
    {8, 9, {"sm_89", "sm_88", "sm_87", "sm_86", "sm_80"}, "sm_89"},
    {9, 0, {"sm_90a", "sm_90"}, "sm_90a"},
    {10, 0, {"sm_100a", "sm_100f", "sm_100"}, "sm_100a"},
    {10, 3, {"sm_103a", "sm_103f", "sm_101f", "sm_100f", "sm_103", "sm_101", "sm_100"}, "sm_103a"},
    {11, 0, {"sm_110a", "sm_110f", "sm_110"}, "sm_110a"},
    {12, 0, {"sm_120a", "sm_120f", "sm_120"}, "sm_120a"},
    {12, 1, {"sm_121a", "sm_121f", "sm_120f", "sm_121", "sm_120"}, "sm_121a"},
};

TEST(ImageChoiceTest, ListsWhatEachDeviceRunsBestFirst) {
  for (const Device& device : devices) {
    Archs chosen = runnable_archs(device.major, device.minor);
    std::erase_if(chosen, [](const std::string& arch) {
      return std::find(made.begin(), made.end(), arch) == made.end();
    });
    EXPECT_EQ(chosen, device.runs) << device.major << '.' << device.minor;
  }
}

TEST(ImageChoiceTest, ListsPtxNotAboveTheDeviceNewestFirst) {
  const auto listed = [](int major, int minor) {
    Archs archs = runnable_ptx(major, minor);
    std::erase_if(archs, [](const std::string& arch) { return arch.starts_with("sm_"); });
    archs.resize(8);
    return archs;
  };
  EXPECT_EQ(listed(7, 5), (Archs{"compute_75", "compute_74", "compute_73", "compute_72",
                                 "compute_71", "compute_70", "compute_62", "compute_61"}));
  EXPECT_EQ(listed(9, 0), (Archs{"compute_90a", "compute_90", "compute_89", "compute_88",
                                 "compute_87", "compute_86", "compute_80", "compute_75"}));
  EXPECT_EQ(listed(12, 1), (Archs{"compute_121a", "compute_121f", "compute_120f", "compute_121",
                                  "compute_120", "compute_110", "compute_103", "compute_101"}));
}

TEST(ImageChoiceTest, ListsPtxUnderBothOfItsNames) {
  const Archs archs = runnable_ptx(8, 0);
  EXPECT_EQ(archs[0], "compute_80");
  EXPECT_EQ(archs[1], "sm_80");
  EXPECT_EQ(std::set(archs.begin(), archs.end()).size(), archs.size());
}

TEST(ImageChoiceTest, CompilesTheDevicesOwnTarget) {
  for (const Device& device : devices) {
    EXPECT_EQ(compile_target(device.major, device.minor), device.compiled);
    EXPECT_EQ(runnable_archs(device.major, device.minor).front(), device.compiled);
  }
}

TEST(ImageChoiceTest, ListsNothingTwice) {
  for (const Device& device : devices) {
    const Archs chosen = runnable_archs(device.major, device.minor);
    EXPECT_EQ(std::set(chosen.begin(), chosen.end()).size(), chosen.size());
  }
}

}  // namespace
}  // namespace kiln
