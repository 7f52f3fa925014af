#include "queue/compile_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// Tasks that say when they begin, and stay at the compiler, or where things are stored, until they are told.
class CompileQueueTest : public ::testing::Test {
 protected:
  CompileQueue::Request task(const std::string& name) {
    return {.name = name,
            .key = digest_of(name),
            .work = [this, name](const CompileControl& control) -> Result<ServedArtifact> {
              pass("begin " + name);
              wait_for("compile " + name);
              control.when_compiled();
              wait_for("store " + name);
              return fail(ErrorCode::compile_failed, name);
            },
            .when_compiled = [this, name] { pass("compiled " + name); }};
  }

  void pass(const std::string& what) {
    const std::lock_guard lock(mutex_);
    passed_.push_back(what);
    changed_.notify_all();
  }

  bool wait_for(const std::string& what, std::chrono::milliseconds time = 10s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] {
      return std::find(passed_.begin(), passed_.end(), what) != passed_.end();
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> passed_;
};

TEST_F(CompileQueueTest, TheNextIsCompiledWhileTheLastIsStored) {
  CompileQueue queue(1, 10);
  const auto a = queue.add(task("a"));
  const auto b = queue.add(task("b"));
  ASSERT_TRUE(wait_for("begin a"));
  EXPECT_FALSE(wait_for("begin b", 50ms));
  pass("compile a");
  ASSERT_TRUE(wait_for("compiled a"));
  ASSERT_TRUE(wait_for("begin b"));
  EXPECT_FALSE(a.ready());
  pass("store a");
  EXPECT_EQ(a.get().error().message, "a");
  EXPECT_FALSE(b.ready());
  pass("compile b");
  pass("store b");
  EXPECT_EQ(b.get().error().message, "b");
}

TEST_F(CompileQueueTest, OneIsStoredForEachThatIsCompiled) {
  CompileQueue queue(1, 10);
  std::vector<Compiling> compilings;
  for (const char* name : {"a", "b", "c"}) {
    compilings.push_back(queue.add(task(name)));
    pass(std::string("compile ") + name);
  }
  ASSERT_TRUE(wait_for("compiled b"));
  EXPECT_FALSE(wait_for("begin c", 50ms));
  for (const char* name : {"a", "b", "c"}) pass(std::string("store ") + name);
  for (const auto& compiling : compilings) EXPECT_FALSE(compiling.get());
}

TEST_F(CompileQueueTest, OneThatComesToTheCompilerLaterIsStillTheMoreUrgent) {
  CompileQueue queue(1, 10);
  std::vector<Compiling> compilings;
  for (const char* name : {"a", "b", "c"}) {
    auto request = task(name);
    request.priority = *name;
    compilings.push_back(queue.add(std::move(request)));
    ASSERT_TRUE(wait_for("begin a"));
  }
  for (const char* name : {"a", "b", "c"}) {
    pass(std::string("store ") + name);
    pass(std::string("compile ") + name);
  }
  for (const auto& compiling : compilings) EXPECT_FALSE(compiling.get());
  std::vector<std::string> begun;
  for (const auto& what : passed_) {
    if (what.starts_with("begin")) begun.push_back(what);
  }
  EXPECT_THAT(begun, ElementsAre("begin a", "begin c", "begin b"));
}

}  // namespace
}  // namespace kiln::test
