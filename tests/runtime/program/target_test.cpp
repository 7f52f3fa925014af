#include "kiln/target.h"

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

TEST(Target, ReadsArchitectures) {
  for (const auto* arch : {"sm_75", "sm_80", "sm_90a", "sm_100f", "sm_103a", "sm_120", "native"}) {
    const auto target = Target::parse(arch);
    ASSERT_TRUE(target) << arch;
    EXPECT_EQ(target->arch(), arch);
    EXPECT_EQ(target->kind(), ImageKind::cubin);
  }
  EXPECT_TRUE(Target::parse("compute_90", ImageKind::ptx));
  EXPECT_TRUE(Target::parse("native").value().is_native());
}

TEST(Target, IsWrittenAsItsArchitecture) {
  const Target target = "sm_90a";
  EXPECT_EQ(target, Target::parse("sm_90a").value());
  EXPECT_THROW(Target("sm_9"), tl::bad_expected_access<Error>);
}

TEST(Target, RefusesWhatIsNoArchitecture) {
  for (const auto* arch :
       {"", "sm_", "sm_9", "sm_90b", "sm_1000", "sm_09", "90", "SM_90", "sm_90a ", "banana"}) {
    const auto target = Target::parse(arch);
    ASSERT_FALSE(target) << arch;
    EXPECT_EQ(target.error().code, ErrorCode::unknown_arch);
    EXPECT_NE(target.error().message.find("sm_80"), std::string::npos) << target.error().message;
    EXPECT_NE(target.error().message.find("'" + std::string(arch) + "'"), std::string::npos);
  }
}

TEST(Target, ThereIsNoCubinOfAComputeArchitecture) {
  const auto target = Target::parse("compute_90");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().message,
            "'compute_90' names no GPU, so there is no cubin for it: ask for ptx, or for sm_90");
}

TEST(ImageKinds, RoundTrip) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir, ImageKind::optixir,
                          ImageKind::fatbin}) {
    EXPECT_EQ(parse_image_kind(to_string(kind)).value(), kind);
  }
  EXPECT_EQ(parse_image_kind("elf").error().message,
            "unknown image kind 'elf': use cubin, ptx, ltoir, optixir or fatbin");
}

}  // namespace
}  // namespace kiln::test
