// Keys and proxies that kiln-remote takes from its environment, which is that of whoever started it.

#include <string>

#include <gtest/gtest.h>

#include "kiln/exchange.h"
#include "kiln/remote.h"
#include "machines_fixture.h"

namespace kiln::test {
namespace {

class RemoteEnvironment : public MachinesFixture {
 protected:
  /// Nothing listens on the port 1.
  void ask(const std::string& url) {
    const auto settings = resolve_settings(machine("a", "")).value();
    EXPECT_FALSE(open_store(url, settings).value()->hints(Digest(), 1));
  }
};

TEST_F(RemoteEnvironment, WhoComesWithOtherKeysHasAHelperOfHisOwn) {
  const std::string bucket = "s3://bucket?endpoint=http://127.0.0.1:1";
  for (int round = 0; round < 2; ++round) {
    for (const auto* const id : {"one", "two"}) {
      const ScopedVariable key("AWS_ACCESS_KEY_ID", id);
      ask(bucket);
    }
  }
  EXPECT_EQ(helpers().size(), 2U);
  const ScopedVariable key("AWS_ACCESS_KEY_ID", "one");
  const ScopedVariable proxy("all_proxy", "http://127.0.0.1:1");
  ask(bucket);
  EXPECT_EQ(helpers().size(), 3U);
}

// A helper has the environment of whoever starts it, and one that has ended is started anew.
TEST_F(RemoteEnvironment, WhatChangedMeanwhileIsToldOf) {
  const auto settings = resolve_settings(machine("a", "")).value();
  const auto store = open_store("s3://bucket?endpoint=http://127.0.0.1:1", settings).value();
  const ScopedVariable key("AWS_ACCESS_KEY_ID", "another");
  const auto hints = store->hints(Digest(), 1);
  ASSERT_FALSE(hints);
  EXPECT_NE(hints.error().message.find("open it again"), std::string::npos);
  EXPECT_TRUE(helpers().empty());
}

TEST_F(RemoteEnvironment, OfWhatAServerDoesNotNeedSaysNothing) {
  for (const auto* const id : {"one", "two"}) {
    const ScopedVariable key("AWS_ACCESS_KEY_ID", id);
    ask("redis://127.0.0.1:1?timeout=1777");
  }
  EXPECT_EQ(helpers().size(), 1U);
}

}  // namespace
}  // namespace kiln::test
