// A process forks while it compiles.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <semaphore>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async_fixture.h"
#include "compile/process_end.h"
#include "support/child.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "vendor/library_imports.h"
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
    // A child waits as long for what its parent compiles.
    options.compile_patience = 120s;
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
    EXPECT_EQ(made.error().code, ErrorCode::compiler_missing);
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

// Who listens to the end of the parent lies on a stack that the child's own thread may be given.
TEST_F(Fork, AmidACompileTheChildEndsThoughItHasThreadsOfItsOwn) {
  EXPECT_EQ(run_in_child_amid_compile([](Runtime&) -> int {
              for (int count = 0; count < 4; ++count)
                std::thread([] { std::this_thread::sleep_for(1ms); }).join();
              std::exit(0);
            }),
            0);
}

TEST_F(Fork, ACompilingOfTheParentIsCancelledInTheChildAndGoesOnInTheParent) {
  auto runtime = Runtime::open(options()).value();
  const auto compiling = runtime.compile_async(long_optimiser(), target());
  ASSERT_TRUE(gate_.wait_for_begun(1));
  std::thread waiting([&] { EXPECT_TRUE(compiling.get()); });
  EXPECT_EQ(run_in_child([handle = std::make_optional(compiling)]() mutable {
              ::alarm(30);
              handle->cancel();
              const auto outcome = handle->get();
              const bool right = handle->ready() && !handle->succeeded() && handle->wait_for(1h) &&
                                 !outcome && outcome.error().code == ErrorCode::cancelled;
              handle.reset();
              return right ? 0 : 1;
            }),
            0);
  waiting.join();
  EXPECT_TRUE(compiling.succeeded()) << "the child cancelled nothing of its parent's";
  EXPECT_EQ(run_in_child([&] { return compiling.get() ? 0 : 1; }), 0) << "ready before the fork";
}

TEST_F(Fork, AChildJoinsNoCompileOfAThreadThatItDoesNotHave) {
  EXPECT_EQ(run_in_child_amid_compile([](Runtime& inherited) {
              // Waits for the parent as for any process, and is served what that compiled.
              return inherited.compile(long_optimiser(), target()) ? 0 : 1;
            }),
            0);
}

// Linkers have locks as compilers do.
TEST_F(Fork, AmidACallOfAnotherThreadTheChildIsRefused) {
  const auto ptx = Target::parse("sm_90", ImageKind::ptx).value();
  const auto input = Runtime::open(options()).value().compile(plain("input.cu"), ptx).value();
  const LinkSpec link{
      .name = "fork.link", .inputs = {input}, .target = Target::parse("sm_90").value()};
  std::binary_semaphore begun(0);
  std::binary_semaphore forked(0);
  std::thread calling([&] {
    const ProcessEnd::Stay stay;
    begun.release();
    forked.acquire();
  });
  begun.acquire();
  const ProcessEnd::Stay own;
  EXPECT_EQ(run_in_child([&] {
              EXPECT_TRUE(ProcessEnd::get().forked_amid_calls());
              auto runtime = Runtime::open(options()).value();
              const auto linked = runtime.link(link);
              EXPECT_FALSE(linked);
              if (!linked) {
                EXPECT_THAT(linked.error().message, HasSubstr("was forked while"));
              }
              return HasFailure() ? 1 : is_refused(runtime);
            }),
            0);
  forked.release();
  calling.join();
  EXPECT_EQ(run_in_child([] { return ProcessEnd::get().forked_amid_calls() ? 1 : 0; }), 0)
      << "its own call";
}

// nvJitLink registers a handler that would wait for the other thread's lock.
TEST_F(Fork, AmidACallOfAnotherThreadTheChildEndsWithoutItsParentsHandlers) {
  static const pid_t parent = ::getpid();
  std::atexit([] {
    if (::getpid() != parent) ::_exit(1);
  });
  const ScratchDirectory scratch;
  const auto end_of_child = [&] {
    return run_in_child([&]() -> int {
      ::on_exit([](int, void* file) { std::fputs("its own", static_cast<std::FILE*>(file)); },
                std::fopen((scratch / "handlers.txt").c_str(), "w"));
      std::exit(7);
    });
  };
  EXPECT_EQ(end_of_child(), 1) << "no call of another thread";

  std::binary_semaphore begun(0);
  std::binary_semaphore forked(0);
  std::thread calling([&] {
    const ProcessEnd::Stay stay;
    begun.release();
    forked.acquire();
  });
  begun.acquire();
  EXPECT_EQ(end_of_child(), 7);
  forked.release();
  calling.join();
  EXPECT_EQ(read_file(scratch / "handlers.txt"), "its own");
}

// As an observer may. The child goes on in the call, whose worker is its parent's.
TEST_F(Fork, AnObserversChildGetsNoImageOfItsParents) {
  auto with = options();
  with.compile_workers = 1;
  std::optional<pid_t> child;
  bool has_worker = false;
  with.observer = [&](const Event& event) {
    if (event.kind != EventKind::compile_begin || child || !has_worker) return;
    child = ::fork();
    if (*child == 0) ::alarm(60);
  };
  auto runtime = Runtime::open(std::move(with)).value();
  has_worker = runtime.compile(plain("before.cu"), target()).has_value();
  const auto made = runtime.compile(plain("begun.cu"), target());
  ASSERT_TRUE(child);
  if (*child == 0) {
    const bool is_refused = !made && made.error().code == ErrorCode::cancelled;
    ::_exit(is_refused && runtime.compile(plain("own.cu"), target()) ? 0 : 1);
  }
  EXPECT_TRUE(made);
  int status = 0;
  ASSERT_EQ(::waitpid(*child, &status, 0), *child);
  EXPECT_EQ(status, 0);
}

TEST_F(Fork, ALogThatAsksTheChildsRuntimeMayBeCalledWhileThatIsMade) {
  const ScratchDirectory scratch;
  std::optional<Runtime> runtime;
  RuntimeOptions with{.cache_directory = scratch / "cache", .compile_workers = 0};
  with.log = [&](LogLevel, std::string_view) {
    if (runtime) static_cast<void>(runtime->counters());
  };
  runtime = Runtime::open(std::move(with)).value();
  std::filesystem::rename(scratch / "cache", scratch / "away");
  write_file(scratch / "cache", "no folder");
  EXPECT_EQ(run_in_child([&] { return runtime->compile(plain("child.cu"), target()) ? 0 : 1; }), 0);
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
      auto own_options = options();
      own_options.observer = nullptr;  // Its lock may be held by the other thread for good.
      auto runtime = Runtime::open(std::move(own_options)).value();
      std::thread loading([&] {
        static_cast<void>(runtime.compile(plain(fmt::format("parent{}.cu", moment)), target()));
      });
      std::this_thread::sleep_for(moment * 1ms);
      // It may be refused, but must not crash, nor wait for ever.
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

// Locks of the runtime that its other threads hold when it forks are never released in the child.
TEST_F(Fork, AmidHitsOfOtherThreadsTheChildIsServedToo) {
  auto own_options = options();
  own_options.observer = nullptr;
  auto runtime = Runtime::open(std::move(own_options)).value();
  const auto program = plain("served.cu");
  const auto made = runtime.compile(program, target());
  ASSERT_TRUE(made) << made.error().message;
  std::atomic<bool> enough{false};
  std::vector<std::thread> hitting;
  for (int number = 0; number < 4; ++number) {
    hitting.emplace_back([&] {
      // Each time anew as well, so that every layer is asked.
      while (!enough) {
        EXPECT_TRUE(runtime.compile(program, target()));
        EXPECT_TRUE(runtime.compile(plain("served.cu"), target()));
      }
    });
  }
  for (int count = 0; count < 100; ++count) {
    EXPECT_EQ(run_in_child([&] {
                ::alarm(30);
                const auto served = runtime.compile(program, target());
                return served && served->image == made->image ? 0 : 1;
              }),
              0)
        << "fork " << count;
  }
  enough = true;
  for (auto& thread : hitting) thread.join();
}

TEST_F(Fork, AChildsRuntimeBeginsAnewAndItsOwnChildsToo) {
  auto runtime = Runtime::open(options()).value();
  ASSERT_TRUE(runtime.compile(plain("before.cu"), target()));
  runtime.set_mode(Mode::cache_only);
  EXPECT_EQ(
      run_in_child([&] {
        if (runtime.counters().compiles != 0) return 1;
        if (runtime.mode() != Mode::cache_only) return 2;
        const auto served = runtime.compile(plain("before.cu"), target());
        if (!served || served->origin != Origin::local) return 3;
        return run_in_child([copy = runtime]() mutable {
          const auto again = copy.compile(plain("before.cu"), target());
          return again && again->origin == Origin::local && copy.counters().local_hits == 1 ? 0 : 4;
        });
      }),
      0);
  EXPECT_EQ(runtime.counters().compiles, 1U);
  const auto again = runtime.compile(plain("before.cu"), target());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->origin, Origin::memory) << "the parent's is as it was";
}

// The loader's lock is taken meanwhile, and nobody would release it in the child.
TEST_F(Fork, AmidALookAtTheLoadedLibrariesTheChildMayLookToo) {
  std::atomic<bool> enough{false};
  std::thread looking([&] {
    while (!enough) static_cast<void>(vendor::libraries_ever_loaded());
  });
  for (int count = 0; count < 100; ++count) {
    EXPECT_EQ(run_in_child([] {
                ::alarm(20);
                return vendor::libraries_ever_loaded() > 0 ? 0 : 1;
              }),
              0)
        << "fork " << count;
  }
  enough = true;
  looking.join();
}

// What maps a linker must not call it: nobody would release its lock in the child.
TEST_F(Fork, AmidALookForTheLinkerTheChildMayLookToo) {
  if (!Runtime::open(options()).value().linker().available) GTEST_SKIP() << "no nvJitLink";
  std::atomic<bool> enough{false};
  std::thread looking([&] {
    while (!enough) static_cast<void>(Runtime::open(options()).value().linker());
  });
  for (int count = 0; count < 60; ++count) {
    EXPECT_EQ(run_in_child([&] {
                ::alarm(30);
                return Runtime::open(options()).value().linker().available ? 0 : 1;
              }),
              0)
        << "fork " << count;
  }
  enough = true;
  looking.join();
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
