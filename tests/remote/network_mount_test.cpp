// A cache whose directory lies on a network's filesystem: each machine has its own, and they share that directory as a store.

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/digest.h"
#include "kiln/exchange.h"
#include "kiln/remote.h"
#include "kiln/settings.h"
#include "machines_fixture.h"
#include "support/pretended_file_systems.h"
#include "support/variable.h"

namespace kiln::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class NetworkMount : public MachinesFixture {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(mount_);
    // So that each machine of the test has a place of its own.
    pretended = {{mount_.string(), nfs}, {"/var/tmp", nfs}};
  }
  void TearDown() override { pretended.clear(); }

  /// The value of KILN_REMOTE as it is listed.
  std::string store_of(RuntimeOptions options) {
    options.cache_directory = directory_;
    const auto settings = resolve_settings(options).value();
    for (const auto& setting : settings.listing) {
      if (setting.variable == "KILN_REMOTE") return setting.value;
    }
    return "it is not listed";
  }

  Result<Runtime> on_machine(const std::string& name) {
    const auto place = scratch_ / name;
    std::filesystem::create_directory(place);
    std::filesystem::permissions(place, std::filesystem::perms::owner_all);
    const Variable session("XDG_RUNTIME_DIR", place.c_str());
    auto options = this->options();
    options.cache_directory = directory_;
    options.log = [this](LogLevel, std::string_view line) { said_ += line; };
    return Runtime::open(options);
  }

  const Variable unset_{"KILN_REMOTE", nullptr};
  const std::filesystem::path mount_ = scratch_ / "mount";
  /// A cache's directory need not be there, nor that above it.
  const std::filesystem::path directory_ = mount_ / "home/my kernels";
  std::string said_;
};

TEST_F(NetworkMount, IsTheStoreWhereNoneIsNamed) {
  EXPECT_THAT(store_of({}), EndsWith("/mount/home/my%20kernels"));
  EXPECT_EQ(store_of({.remotes = "redis://host"}), "redis://host");
  EXPECT_EQ(store_of({.remotes = ""}), "");
  EXPECT_EQ(store_of({.cache_disabled = true}), "");
  {
    const Variable none("KILN_REMOTE", "");
    EXPECT_EQ(store_of({}), "");
  }
  pretended.clear();
  EXPECT_EQ(store_of({}), "");
}

std::chrono::nanoseconds time_of(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Whoever looked within the tick of a server's clock in which a hint came would not see it for up to a minute, did its folders
// not get another time when that is over.
TEST_F(NetworkMount, FoldersOfAHintChangeOnceMoreBehindTheTick) {
  const auto store = open_file_store(mount_, {.create = true}).value();
  const Digest request = digest_of("a request");
  const std::string name(64, 'a');
  ASSERT_TRUE(store->add_hint(request, name, "hint"));
  const auto requests = mount_ / "kiln-store.v1/requests";
  const auto outer = requests / request.hex().substr(0, 2);
  const auto inner = outer / request.hex();
  struct stat hint;
  ASSERT_EQ(::stat((inner / name).c_str(), &hint), 0);
  for (const auto& folder : {requests, outer, inner}) {
    struct stat status;
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_GE(time_of(status.st_mtim) - time_of(hint.st_ctim), std::chrono::milliseconds(5))
        << folder;
  }
  std::size_t names = 0;
  for (const auto& file : std::filesystem::directory_iterator(inner))
    names += file.path().filename() != ".kiln-made" ? 1 : 0;
  EXPECT_EQ(names, 1u) << "the hint alone";
}

TEST_F(NetworkMount, SharesWhatMachinesCompile) {
  auto first = on_machine("first").value();
  EXPECT_THAT(said_, HasSubstr("goes through that directory as a store"));
  const auto compiled = compile(first, 1).value();
  EXPECT_EQ(compiled.origin, Origin::compiled);
  EXPECT_EQ(settled(first).pushed, 1U);
  auto second = on_machine("second").value();
  const auto served = compile(second, 1).value();
  EXPECT_EQ(served.origin, Origin::remote);
  EXPECT_EQ(served.image, compiled.image);
  settled(second);
  auto again = on_machine("second").value();
  EXPECT_EQ(compile(again, 1).value().origin, Origin::local);
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(directory_))
    names.push_back(file.path().filename().string());
  EXPECT_THAT(names, ElementsAre("kiln-store.v1")) << "no database lies there, and no lock";
}

}  // namespace
}  // namespace kiln::test
