// A process forks while it compiles.

#include <chrono>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async_fixture.h"
#include "support/child.h"
#include "support/sanitized.h"
#include "vendor/shared_library.h"

namespace kiln::test {
namespace {

using ::testing::HasSubstr;

class Fork : public AsyncFixture {
 protected:
  void SetUp() override {
    if (is_sanitized)
      GTEST_SKIP() << "a sanitizer's own locks stay taken in a child of many threads";
  }

  RuntimeOptions options() {
    auto options = AsyncFixture::options();
    options.compile_workers = 0;
    // Long for a sanitizer on a loaded machine, too.
    options.compile_timeout = 120s;
    return options;
  }

  /// Forks while the compiler is in the midst of something.
  int run_in_child_amid_compile(const std::function<int(Runtime&)>& work) {
    auto runtime = Runtime::open(options()).value();
    const auto compiling = runtime.compile_async(long_optimiser(), target());
    EXPECT_TRUE(gate_.wait_for_begun(1));
    EXPECT_FALSE(compiling.wait_for(300ms)) << "too quick to fork meanwhile";
    return run_in_child([&] { return work(runtime); });
  }

  /// Whether the child is told at once that it cannot compile.
  static int is_refused(Runtime& runtime) {
    const auto made = runtime.compile(plain("child.cu"), target());
    EXPECT_FALSE(made);
    if (made) return 1;
    EXPECT_EQ(made.error().code, ErrorCode::compile_failed);
    EXPECT_THAT(made.error().message, HasSubstr("forked while its parent compiled"));
    EXPECT_THAT(made.error().message, HasSubstr("KILN_COMPILE_WORKERS"));
    return HasFailure() ? 1 : 0;
  }
};

TEST_F(Fork, AmidACompileGivesAChildThatIsRefusedAtOnce) {
  EXPECT_EQ(run_in_child_amid_compile([&](Runtime&) {
              auto own = Runtime::open(options()).value();
              return is_refused(own);
            }),
            0);
}

TEST_F(Fork, AmidACompileRefusesTheInheritedRuntimeToo) {
  EXPECT_EQ(run_in_child_amid_compile([](Runtime& inherited) { return is_refused(inherited); }), 0);
}

TEST_F(Fork, AChildJoinsNoCompileOfAThreadThatItDoesNotHave) {
  EXPECT_EQ(run_in_child_amid_compile([](Runtime& inherited) {
              // Waits for the parent as for any process, and is served what that compiled.
              return inherited.compile(long_optimiser(), target()) ? 0 : 1;
            }),
            0);
}

TEST_F(Fork, AfterACompileTheChildMayCompile) {
  auto runtime = Runtime::open(options()).value();
  ASSERT_TRUE(runtime.compile(plain("before.cu"), target()));
  EXPECT_EQ(run_in_child([&] { return runtime.compile(plain("child.cu"), target()) ? 0 : 1; }), 0);
}

// Each time in a process of its own, in which nothing is loaded yet.
TEST_F(Fork, AmidALoadOfTheCompilerWaitsForIt) {
  for (int moment = 0; moment < 30; ++moment) {
    const int outcome = run_in_child([&] {
      auto runtime = Runtime::open(options()).value();
      std::thread loading([&] {
        static_cast<void>(runtime.compile(plain(fmt::format("parent{}.cu", moment)), target()));
      });
      std::this_thread::sleep_for(moment * 1ms);
      // It may be refused, but must not crash.
      const int status = run_in_child([&] {
        static_cast<void>(runtime.compile(plain(fmt::format("child{}.cu", moment)), target()));
        return 0;
      });
      loading.join();
      return status == 0 ? 0 : 1;
    });
    EXPECT_EQ(outcome, 0) << "forked after " << moment << " ms";
  }
}

TEST_F(Fork, AmidALongLoadTheChildIsToldWhatIsAmiss) {
  std::thread loading([] { EXPECT_TRUE(vendor::SharedLibrary::open(KILN_SLOW_LIBRARY)); });
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(run_in_child([] {
              const auto library = vendor::SharedLibrary::open(KILN_SLOW_LIBRARY);
              if (library) return 1;
              EXPECT_THAT(library.error().message, HasSubstr("forked while its parent loaded"));
              return HasFailure() ? 2 : 0;
            }),
            0);
  loading.join();
  EXPECT_EQ(run_in_child([] { return vendor::SharedLibrary::open(KILN_SLOW_LIBRARY) ? 0 : 1; }), 0);
}

}  // namespace
}  // namespace kiln::test
