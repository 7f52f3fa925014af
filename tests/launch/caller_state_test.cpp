// What a caller has set for itself is as it was after any call: errno, signal mask, the environment of
// floating-point numbers, locale.

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <locale>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/cache.h"
#include "support/child.h"
#include "support/scratch.h"

namespace kiln {
namespace {

constexpr int odd_errno = 4711;

class CallerStateTest : public FakeDriverTest {
 protected:
  CallerStateTest() {
    std::fesetround(FE_DOWNWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &some, &mask_before_);
  }
  ~CallerStateTest() override {
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    std::fesetenv(FE_DFL_ENV);
  }

  void expect_unchanged(const char* what, const std::function<void()>& call) {
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    const std::string locale = std::setlocale(LC_ALL, nullptr);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_UNDERFLOW);
    errno = odd_errno;
    call();
    EXPECT_EQ(errno, odd_errno) << what;
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_UNDERFLOW) << what;
    EXPECT_EQ(std::fegetround(), FE_DOWNWARD) << what;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int signal = 1; signal < SIGRTMIN; ++signal)
      EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << what << signal;
    EXPECT_EQ(locale, std::setlocale(LC_ALL, nullptr)) << what;
  }

  void compile_in_german() {
    const auto program = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
    const auto plain = Runtime::open(options())->compile(program, target_).value();
    ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
    std::locale::global(std::locale("de_DE.UTF-8"));
    const auto again = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
    expect_unchanged("hit", [&] {
      const auto hit = Runtime::open(options())->compile(again, target_);
      ASSERT_TRUE(hit);
      EXPECT_EQ(hit->origin, Origin::local);
      EXPECT_EQ(hit->key, plain.key);
    });
    auto uncached = options();
    uncached.cache_disabled = true;
    expect_unchanged("compile", [&] {
      EXPECT_EQ(Runtime::open(uncached)->compile(again, target_)->image, plain.image);
    });
  }

  [[nodiscard]] const RuntimeOptions& options() const { return options_; }

  const kiln::test::ScratchDirectory scratch_;
  // Made beforehand: what joins paths multiplies by 1.5.
  const RuntimeOptions options_{.cache_directory = scratch_ / "cache",
                                .cuda_driver = fake_driver_path(),
                                .log_level = LogLevel::off};
  const Target target_ = Target::parse("sm_90a").value();

 private:
  sigset_t mask_before_;
};

TEST_F(CallerStateTest, AfterEachCallOfARuntime) {
  const auto program = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
  const auto bad = make_program("nonsense", {});
  std::vector<Runtime> opened;
  expect_unchanged("open", [&] { opened.push_back(Runtime::open(options()).value()); });
  Runtime& runtime = opened[0];
  expect_unchanged("explain", [&] { (void)runtime.explain(program, target_); });
  expect_unchanged("miss", [&] { EXPECT_TRUE(runtime.compile(program, target_)); });
  expect_unchanged("hit in memory", [&] { EXPECT_TRUE(runtime.compile(program, target_)); });
  expect_unchanged("failure", [&] { EXPECT_FALSE(runtime.compile(bad, target_)); });
  expect_unchanged("async", [&] {
    EXPECT_TRUE(runtime.compile_async(program, Target::parse("sm_80").value()).get());
  });
  expect_unchanged("prefetch", [&] { (void)runtime.prefetch({{program, target_}}); });
  expect_unchanged("fatbin", [&] { (void)runtime.fatbin(program, {target_}); });
  expect_unchanged("link", [&] { EXPECT_FALSE(runtime.link({"none", {}, target_})); });
  std::vector<Kernel> kernels;
  expect_unchanged("kernel", [&] { kernels.push_back(runtime.kernel(program, "k").value()); });
  expect_unchanged("module", [&] { EXPECT_TRUE(runtime.module(program)); });
  expect_unchanged("launch", [&] { EXPECT_TRUE(kernels[0].launch(nullptr, {}, nullptr)); });
  expect_unchanged("bad launch", [&] { EXPECT_FALSE(kernels[0].launch(nullptr, {}, 1)); });
  expect_unchanged("attributes", [&] { (void)kernels[0].attributes(); });
  expect_unchanged("hit on disk", [&] {
    EXPECT_EQ(Runtime::open(options())->compile(program, target_)->origin, Origin::local);
  });
  expect_unchanged("linker", [&] { (void)runtime.linker(); });
  expect_unchanged("worker", [&] { (void)runtime.worker(); });
  expect_unchanged("packer", [&] { (void)runtime.packer(); });
  expect_unchanged("end", [&] { opened.clear(); });
}

// NVRTC 13.0 folds constants the same whatever the rounding, which is no promise: nobody sees the caller's.
TEST_F(CallerStateTest, ItsRoundingDoesNotReachWhatIsCompiled) {
  const auto program = make_program(
      "extern \"C\" __global__ void k(double* x) { *x = 1.0 / 3 + 0.1; x[1] = 0.7 * 0.1; }", {"k"});
  auto uncached = options();
  uncached.cache_disabled = true;
  std::atomic<int> told = 0;
  std::atomic<int> told_otherwise_rounded = 0;
  uncached.observer = [&](const Event&) {
    ++told;
    if (std::fegetround() != FE_TONEAREST) ++told_otherwise_rounded;
  };
  const auto compile = [&] {
    Runtime runtime = Runtime::open(uncached).value();
    EXPECT_EQ(runtime.compile_async(program, target_).get()->image,
              runtime.compile(program, target_)->image);
    return Runtime::open(uncached)->compile(program, target_)->image;
  };
  const auto downwards = compile();
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(downwards, compile());
  EXPECT_GT(told, 0);
  EXPECT_EQ(told_otherwise_rounded, 0);
}

// With commas in numbers, and with another order of letters.
TEST_F(CallerStateTest, ItsLocaleReachesNoKey) {
  const auto locales = (scratch_ / "locales").string();
  std::filesystem::create_directory(locales);
  const auto make = "localedef -i de_DE -f UTF-8 '" + locales + "/de_DE.UTF-8' 2>&1";
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "localedef knows no de_DE here";
  set("LOCPATH", locales);
  // The C library itself leaks where it looks for locales elsewhere.
  EXPECT_EQ(kiln::test::run_in_child([this] {
              compile_in_german();
              return HasFailure() ? 1 : 0;
            }),
            0);
}

TEST_F(CallerStateTest, WhereNothingIsThere) {
  auto nothing = options();
  nothing.cuda_driver = scratch_ / "libcuda.so.1";
  nothing.nvrtc = scratch_ / "libnvrtc.so.13";
  nothing.cache_directory = "/proc/kiln";
  const auto program = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
  expect_unchanged("no compiler",
                   [&] { EXPECT_FALSE(Runtime::open(nothing)->compile(program, target_)); });
  expect_unchanged("no driver",
                   [&] { EXPECT_FALSE(Runtime::open(nothing)->kernel(program, "k")); });
}

TEST_F(CallerStateTest, AfterEachCallOfACache) {
  const auto none = scratch_ / "none";
  const auto directory = scratch_ / "cache";
  const auto bundle = scratch_ / "bundle.kiln";
  expect_unchanged("no cache",
                   [&] { EXPECT_FALSE(Cache::open(none, {.access = Cache::Access::read_only})); });
  expect_unchanged("cache", [&] {
    auto cache = Cache::open(directory).value();
    EXPECT_TRUE(cache.list());
    EXPECT_TRUE(cache.verify(true));
    EXPECT_TRUE(cache.statistics());
    EXPECT_TRUE(cache.export_bundle(bundle));
    EXPECT_TRUE(cache.collect({}));
    EXPECT_TRUE(cache.clear());
    EXPECT_TRUE(Cache::open_bundle(bundle));
  });
}

}  // namespace
}  // namespace kiln
