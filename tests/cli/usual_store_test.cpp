// A cache on a network's filesystem is a store without being named; the verbs that look at it tell of it.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/pretended_file_systems.h"
#include "support/scratch.h"
#include "support/variable.h"
#include "verbs.h"
#include "verbs/remote_states.h"

namespace kiln::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;

class UsualStore : public testing::Test {
 protected:
  UsualStore() {
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms::owner_all);
    test::pretended = {{(scratch_ / "mount").string(), test::nfs}, {"/var/tmp", test::nfs}};
    std::filesystem::create_directory(scratch_ / "mount");
  }
  ~UsualStore() override { test::pretended.clear(); }

  const test::ScratchDirectory scratch_;
  const test::Variable session_{"XDG_RUNTIME_DIR", scratch_.path().c_str()};
  const test::Variable unset_{"KILN_REMOTE", nullptr};
  // None is asked, so that none is left running.
  const test::Variable helper_{"KILN_REMOTE_HELPER", "/nowhere/kiln-remote"};
  const Globals globals_{.cache = scratch_ / "mount/kernels", .json = true};
};

TEST_F(UsualStore, IsAmongTheStoresOfDoctor) {
  testing::internal::CaptureStdout();
  std::ignore = diagnose(globals_, {});
  const auto told = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  ASSERT_EQ(told["remotes"].size(), 1U) << told["can_share"];
  EXPECT_THAT(told["remotes"][0]["url"], EndsWith("/mount/kernels"));
}

TEST_F(UsualStore, IsAmongTheStoresOfStats) {
  EXPECT_THAT(states_of_remotes(globals_),
              ElementsAre(Field(&RemoteState::url, EndsWith("/mount/kernels"))));
  const test::Variable none("KILN_REMOTE", "");
  EXPECT_THAT(states_of_remotes(globals_), ElementsAre());
}

}  // namespace
}  // namespace kiln::cli
