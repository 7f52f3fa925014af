#include "compile/worker/worker_search.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

TEST(WorkerSearch, OneThatIsNamedIsFoundOrSaysWhyNot) {
  const ScratchDirectory scratch;
  const auto file = scratch / "worker";
  const auto outcome = [](const fs::path& named) {
    const auto search = find_worker(named);
    EXPECT_EQ(search.steps.size(), 1U);
    EXPECT_EQ(search.executable.empty(), search.steps.at(0).outcome != "found");
    return search.steps.at(0).outcome;
  };
  EXPECT_EQ(outcome(file), "no such file");
  EXPECT_EQ(outcome(scratch.path()), "not a file");
  write_file(file, "#!/bin/sh\n");
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_EQ(outcome(file), "may not be executed");
  fs::permissions(file, fs::perms::owner_all);
  EXPECT_EQ(outcome(file), "found");
}

TEST(WorkerSearch, NoPlaceIsLookedAtTwice) {
  const auto search = find_helper("no-such-helper", "", std::nullopt);
  std::set<std::string> places;
  for (const auto& step : search.steps) EXPECT_TRUE(places.insert(step.place).second) << step.place;
  EXPECT_FALSE(places.empty());
}

}  // namespace
}  // namespace kiln::test
