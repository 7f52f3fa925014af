// The tool with the rights of another user than the one who starts it.

#include <sys/statvfs.h>
#include <unistd.h>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class OtherRights : public ToolTest {
 protected:
  void SetUp() override {
    struct statvfs place;
    if (::geteuid() != 0) GTEST_SKIP() << "only root may start a program as another user";
    ASSERT_EQ(::statvfs(scratch("").c_str(), &place), 0);
    if ((place.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << "no program here has other rights";
  }
};

TEST_F(OtherRights, AreNotUsedAsTheEnvironmentSays) {
  Circumstances circumstances{.environment = {{"KILN_CACHE_DIR", "/foreign/cache"},
                                              {"KILN_NVRTC", "/foreign/libnvrtc.so"},
                                              {"KILN_RECORD", "/foreign/record.json"}}};
  const auto own = run({"config"}, circumstances);
  EXPECT_THAT(own.out, HasSubstr("/foreign/libnvrtc.so"));
  circumstances.set_user_id = true;
  const auto others = run({"config"}, circumstances);
  EXPECT_NE(others.exit_code, 127) << "was not started";
  EXPECT_THAT(others.out + others.err, Not(HasSubstr("/foreign")));
}

TEST_F(OtherRights, AreNotUsedAsAFileOfSettingsSays) {
  const auto config = file("config/kiln/config", "KILN_NVRTC=/foreign/libnvrtc.so\n");
  std::filesystem::permissions(config, std::filesystem::perms(0644));
  Circumstances circumstances{.environment = {{"XDG_CONFIG_HOME", scratch("config").string()}}};
  unsetenv("KILN_NVRTC");
  EXPECT_THAT(run({"config"}, circumstances).out, HasSubstr("/foreign/libnvrtc.so"));
  circumstances.set_user_id = true;
  const auto others = run({"config"}, circumstances);
  EXPECT_NE(others.exit_code, 127) << "was not started";
  EXPECT_THAT(others.out + others.err, Not(HasSubstr("/foreign")));
}

}  // namespace
}  // namespace kiln::tests
