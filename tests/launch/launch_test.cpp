#include "kiln/launch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/cache.h"
#include "kiln/runtime.h"
#include "support/scratch.h"

namespace kiln {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What the device code below declares, as the host has it.
struct alignas(16) Five {
  float values[5];
};
struct alignas(64) Wide {
  std::array<std::uint8_t, 128> bytes;
};

constexpr const char* source = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct alignas(16) Five { float values[5]; };
struct alignas(64) Wide { unsigned char bytes[128]; };

extern "C" __global__ void every_kind(
    bool flag, signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
    unsigned u32, long long i64, unsigned long long u64, __half half, __nv_bfloat16 bfloat16,
    float f32, double f64, float* pointer, Five five, const __grid_constant__ Wide wide) {
  *pointer = flag + i8 + u8 + i16 + u16 + i32 + u32 + i64 + u64 + float(half) + float(bfloat16) +
             f32 + f64 + five.values[4] + wide.bytes[127];
}

extern "C" __global__ void twenty(
    char a, double b, short c, Five d, bool e, long long f, __half g, float* h, int i, Wide j,
    char k, double l, short m, Five n, bool o, long long p, __half q, float* r, int s, char t) {
  *h = a + b + c + d.values[0] + e + f + float(g) + i + j.bytes[0];
  *r = k + l + m + n.values[0] + o + p + float(q) + s + t;
}

template <class T> __global__ void fill(T* out, T value) { *out = value; }
)";

const Program& program() {
  static const Program made = make_program(source, {"every_kind", "twenty", "fill<float>"});
  return made;
}

const Five five{{1.0F, -2.0F, 3.5F, 0.0F, 1e30F}};

Wide make_wide() {
  Wide wide{};
  for (std::size_t index = 0; index < wide.bytes.size(); ++index) {
    wide.bytes[index] = static_cast<std::uint8_t>(index * 7 + 1);
  }
  return wide;
}

/// What an error says of fill<float>, as its symbol tells it.
const std::string declared = "; the kernel is void fill<float>(float*, float)";

class LaunchTest : public FakeDriverTest {
 protected:
  Kernel kernel(const char* expression) { return runtime_.kernel(program(), expression).value(); }

  /// That the last launch received these values' bytes. What pads a structure is not looked at.
  template <class... Ts>
  void expect_received(const Ts&... values) {
    const std::size_t last = launch_count_() - 1;
    ASSERT_EQ(launch_(last).param_count, sizeof...(values));
    std::size_t position = 0;
    (
        [&](const auto& value) {
          EXPECT_EQ(received(last, position), bytes_of(value)) << "argument " << position;
          ++position;
        }(values),
        ...);
  }

  Runtime runtime_ = open_runtime();
  const LaunchConfig config_{.grid = {2, 3, 4}, .block = {32, 2, 1}, .shared_bytes = 512};
  float* const pointer_ = reinterpret_cast<float*>(0x7f1234567890);
};

TEST_F(LaunchTest, EveryKindOfArgumentArrivesToTheByte) {
  const Kernel every_kind = kernel("every_kind");
  const Wide wide = make_wide();
  const auto launched = every_kind.launch(
      nullptr, config_, true, std::int8_t{-128}, std::uint8_t{255}, std::int16_t{-32768},
      std::uint16_t{65535}, std::numeric_limits<std::int32_t>::min(), std::uint32_t{0xdeadbeef},
      std::numeric_limits<std::int64_t>::min(), std::uint64_t{0x0123456789abcdef}, Half(1.5F),
      BFloat16(-3.25F), 0.1F, 0.1, pointer_, five, wide);
  ASSERT_TRUE(launched.has_value()) << launched.error().message;
  expect_received(true, std::int8_t{-128}, std::uint8_t{255}, std::int16_t{-32768},
                  std::uint16_t{65535}, std::numeric_limits<std::int32_t>::min(),
                  std::uint32_t{0xdeadbeef}, std::numeric_limits<std::int64_t>::min(),
                  std::uint64_t{0x0123456789abcdef}, Half(1.5F), BFloat16(-3.25F), 0.1F, 0.1,
                  pointer_, five, wide);
}

TEST_F(LaunchTest, TheDeviceSeesTheNumbersThatWereMeant) {
  // The bytes in the device's order of parts, written by hand: 1.5 and -3.25 in 16 bits each.
  const auto launched = kernel("every_kind")
                            .launch(nullptr, config_, true, std::int8_t{1}, std::uint8_t{2},
                                    std::int16_t{3}, std::uint16_t{4}, 5, 6U, 7LL, 8ULL, Half(1.5F),
                                    BFloat16(-3.25F), 1.0F, 1.0, nullptr, five, make_wide());
  ASSERT_TRUE(launched.has_value()) << launched.error().message;
  EXPECT_EQ(received(0, 0), std::string("\x01", 1));
  EXPECT_EQ(received(0, 3), std::string("\x03\x00", 2));
  EXPECT_EQ(received(0, 9), std::string("\x00\x3e", 2));
  EXPECT_EQ(received(0, 10), std::string("\x50\xc0", 2));
  EXPECT_EQ(received(0, 11), std::string("\x00\x00\x80\x3f", 4));
  EXPECT_EQ(received(0, 12), std::string("\x00\x00\x00\x00\x00\x00\xf0\x3f", 8));
  EXPECT_EQ(received(0, 13), std::string(8, '\0'));
}

TEST_F(LaunchTest, ArgumentsOfBytesArriveAndOnlyTheirSizesAreCompared) {
  const Kernel fill = kernel("fill<float>");
  const auto bytes = [](const auto& value) { return std::as_bytes(std::span(&value, 1)); };
  const std::int32_t number = 0x3fc00000;
  const std::vector<std::span<const std::byte>> given{bytes(pointer_), bytes(number)};
  const auto launched = fill.launch_bytes(nullptr, config_, given);
  ASSERT_TRUE(launched.has_value()) << launched.error().message;
  expect_received(pointer_, 1.5F);

  const auto refusal = [&](const std::vector<std::span<const std::byte>>& arguments) {
    const auto refused = fill.launch_bytes(nullptr, config_, arguments);
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_THAT(refusal({bytes(pointer_)}), HasSubstr("takes 2 arguments"));
  EXPECT_THAT(refusal({bytes(pointer_), bytes(pointer_)}), HasSubstr("argument 2"));
  EXPECT_THAT(refusal({bytes(pointer_), {}}), HasSubstr("argument 2"));
  // More than are kept at hand, and more than any kernel takes.
  EXPECT_THAT(refusal({Args::inline_count + 1, bytes(number)}), HasSubstr("takes 2 arguments"));
  const std::vector<std::byte> much(Args::max_bytes + 1);
  EXPECT_THAT(refusal({much}), HasSubstr("larger than the 32764 bytes"));
  EXPECT_EQ(launch_count_(), 1U);
}

TEST_F(LaunchTest, TwentyArgumentsArriveToTheByte) {
  const Wide wide = make_wide();
  Args args;
  args.add('a').add(2.5).add(short{-3}).add(five).add(true).add(-6LL).add(Half(7.0F));
  args.add(pointer_).add(-9).add(wide).add('k').add(-12.5).add(short{13}).add(five).add(false);
  args.add(16LL).add(Half(-17.0F)).add(pointer_ + 1).add(19).add('t');
  const auto launched = kernel("twenty").launch(nullptr, config_, args);
  ASSERT_TRUE(launched.has_value()) << launched.error().message;
  expect_received('a', 2.5, short{-3}, five, true, -6LL, Half(7.0F), pointer_, -9, wide, 'k', -12.5,
                  short{13}, five, false, 16LL, Half(-17.0F), pointer_ + 1, 19, 't');
}

TEST_F(LaunchTest, ArgumentsOutliveTheVariablesTheyWereMadeFrom) {
  const Kernel fill = kernel("fill<float>");
  std::vector<Args> queue;
  for (int index = 0; index < 3; ++index) {
    const auto value = std::make_unique<float>(static_cast<float>(index));
    queue.emplace_back(pointer_ + index, *value);
  }
  const std::vector<Args> replayed = queue;
  queue.clear();
  for (const Args& args : replayed) ASSERT_TRUE(fill.launch(nullptr, config_, args).has_value());
  ASSERT_EQ(launch_count_(), 3U);
  expect_received(pointer_ + 2, 2.0F);
}

TEST_F(LaunchTest, TheConfigurationArrives) {
  auto* stream = reinterpret_cast<CUstream>(0x1234);
  ASSERT_TRUE(kernel("fill<float>").launch(stream, config_, pointer_, 1.0F).has_value());
  const FakeCudaLaunch launch = launch_(0);
  EXPECT_STREQ(launch.kernel, "_Z4fillIfEvPT_S0_");
  EXPECT_THAT(launch.grid, testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(launch.block, testing::ElementsAre(32, 2, 1));
  EXPECT_EQ(launch.shared_bytes, 512U);
  EXPECT_EQ(launch.stream, stream);
}

TEST_F(LaunchTest, AWrongNumberOfArgumentsIsRefused) {
  const Kernel fill = kernel("fill<float>");
  const auto none = fill.launch(nullptr, config_);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::argument_mismatch);
  EXPECT_EQ(none.error().message,
            "kernel 'fill<float>' takes 2 arguments, 0 were given" + declared);
  const auto three = fill.launch(nullptr, config_, pointer_, 1.0F, 2);
  ASSERT_FALSE(three.has_value());
  EXPECT_EQ(three.error().message,
            "kernel 'fill<float>' takes 2 arguments, 3 were given" + declared);
  EXPECT_EQ(launch_count_(), 0U);
}

TEST_F(LaunchTest, AnArgumentOfTheWrongSizeIsRefused) {
  const Kernel fill = kernel("fill<float>");
  const auto wide_value = fill.launch(nullptr, config_, pointer_, 1.0);
  ASSERT_FALSE(wide_value.has_value());
  EXPECT_EQ(wide_value.error().code, ErrorCode::argument_mismatch);
  EXPECT_EQ(wide_value.error().message,
            "kernel 'fill<float>': argument 2 of 2 takes 4 bytes, but 8 bytes were given (double)" +
                declared);
  const auto value_for_pointer = fill.launch(nullptr, config_, 1, 1.0F);
  ASSERT_FALSE(value_for_pointer.has_value());
  EXPECT_EQ(value_for_pointer.error().message,
            "kernel 'fill<float>': argument 1 of 2 takes 8 bytes, but 4 bytes were given (int)" +
                declared);
  EXPECT_EQ(launch_count_(), 0U);
}

// Sizes are kept in two bytes each, and 65,540 is not 4.
TEST_F(LaunchTest, AnArgumentThatNoKernelTakesIsRefused) {
  const std::vector<std::byte> much(65'540);
  const auto launched =
      kernel("fill<float>").launch(nullptr, config_, pointer_, std::span<const std::byte>(much));
  ASSERT_FALSE(launched.has_value());
  EXPECT_THAT(launched.error().message, HasSubstr("takes 4 bytes, but at least 65535 bytes"));
}

TEST_F(LaunchTest, MoreThanCudaTakesIsRefused) {
  const Args args(std::array<char, 32000>{}, Wide{}, five, std::array<char, 1000>{});
  const auto launched = kernel("fill<float>").launch(nullptr, config_, args);
  ASSERT_FALSE(launched.has_value());
  EXPECT_EQ(launched.error().code, ErrorCode::argument_mismatch);
  EXPECT_THAT(launched.error().message, HasSubstr("larger than the 32764 bytes that CUDA takes"));
}

TEST_F(LaunchTest, AnEmptyGridOrBlockIsRefused) {
  const Kernel fill = kernel("fill<float>");
  for (const LaunchConfig& config :
       {LaunchConfig{.grid = {0}, .block = {1}}, LaunchConfig{.grid = {1, 0}, .block = {1}},
        LaunchConfig{.grid = {1}, .block = {1, 1, 0}}}) {
    const auto launched = fill.launch(nullptr, config, pointer_, 1.0F);
    ASSERT_FALSE(launched.has_value());
    EXPECT_EQ(launched.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(launched.error().message, HasSubstr("no dimension may be 0"));
  }
  EXPECT_EQ(launch_count_(), 0U);
}

TEST_F(LaunchTest, WhatTheDriverRefusesIsReportedAndObserved) {
  std::vector<std::string> seen;
  Runtime runtime = open_runtime([&](const Event& event) {
    if (event.kind == EventKind::launch_failed) seen.emplace_back(event.detail);
  });
  const Kernel fill = runtime.kernel(program(), "fill<float>").value();
  fail_("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  const auto launched = fill.launch(nullptr, config_, pointer_, 1.0F);
  ASSERT_FALSE(launched.has_value());
  EXPECT_EQ(launched.error().code, ErrorCode::driver_failed);
  EXPECT_EQ(launched.error().vendor_code, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(
      launched.error().message,
      "kernel 'fill<float>': the launch failed (grid 2x3x4, block 32x2x1, 512 bytes of dynamic "
      "shared memory): CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)");
  EXPECT_THAT(seen, testing::ElementsAre(launched.error().message));
}

TEST_F(LaunchTest, AThreadWithoutAContextGetsTheDevicesOwn) {
  const Kernel fill = kernel("fill<float>");
  std::thread([&] {
    const auto launched = fill.launch(nullptr, config_, pointer_, 1.0F);
    EXPECT_TRUE(launched.has_value()) << launched.error().message;
  }).join();
  ASSERT_EQ(launch_count_(), 1U);
  EXPECT_NE(launch_(0).context, nullptr);
}

TEST_F(LaunchTest, ThreadsLaunchAtOnce) {
  const Kernel fill = kernel("fill<float>");
  constexpr int thread_count = 8;
  constexpr int launches = 200;
  std::vector<std::thread> threads;
  for (int index = 0; index < thread_count; ++index) {
    threads.emplace_back([&, index] {
      for (int count = 0; count < launches; ++count) {
        const auto launched = fill.launch(nullptr, config_, pointer_, static_cast<float>(index));
        if (!launched) ADD_FAILURE() << launched.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(launch_count_(), std::size_t{thread_count} * launches);
  std::vector<int> seen(thread_count);
  for (std::size_t launch = 0; launch < launch_count_(); ++launch) {
    for (int index = 0; index < thread_count; ++index) {
      if (received(launch, 1) == bytes_of(static_cast<float>(index))) ++seen[index];
    }
  }
  EXPECT_THAT(seen, testing::Each(launches));
}

TEST_F(LaunchTest, AnImageThatIsThereIsTakenBeforeACompile) {
  set("FAKE_CUDA_ARCH", "86");
  Runtime runtime = open_runtime();
  ASSERT_TRUE(runtime.compile(program(), Target::parse("sm_80").value()).has_value());
  const auto found = runtime.kernel(program(), "fill<float>");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->arch(), "sm_80");
  EXPECT_EQ(runtime.counters().compiles, 1U);
}

TEST_F(LaunchTest, TheDevicesOwnTargetIsCompiledOnAMiss) {
  EXPECT_EQ(kernel("fill<float>").arch(), "sm_90a");
  set("FAKE_CUDA_ARCH", "89");
  Runtime runtime = open_runtime();
  EXPECT_EQ(runtime.kernel(program(), "fill<float>").value().arch(), "sm_89");
}

/// A runtime on the fake driver with a cache, whose refusals are expected and not logged.
RuntimeOptions options_in(const std::filesystem::path& cache) {
  return {.cache_directory = cache, .cuda_driver = fake_driver_path(), .log_level = LogLevel::off};
}

/// Puts another image into the entry of this key.
void replace_image(const std::filesystem::path& directory, const Digest& key,
                   const std::string& image) {
  auto cache = Cache::open(directory).value();
  auto stored = cache.entry(key).value();
  stored.artifact.image = image;
  ASSERT_TRUE(cache.put(
      {stored.request, stored.dependencies, stored.toolchain, stored.artifact, nullptr, {}}));
}

TEST_F(LaunchTest, AStoredImageThatTheDriverRefusesIsCompiledAnewOnce) {
  const kiln::test::ScratchDirectory scratch;
  const auto options = options_in(scratch / "cache");
  const auto target = Target::parse("sm_90a").value();
  const auto good = Runtime::open(options).value().compile(program(), target).value();
  replace_image(scratch / "cache", good.key, compile_for(program(), "sm_80").image);
  {
    Runtime runtime = Runtime::open(options).value();
    ASSERT_TRUE(runtime.kernel(program(), "fill<float>").has_value());
    EXPECT_EQ(runtime.counters().refusals, 1U);
    EXPECT_EQ(runtime.counters().compiles, 1U);
  }
  Runtime next = Runtime::open(options).value();
  EXPECT_EQ(next.compile(program(), target).value().image, good.image);
  EXPECT_EQ(next.counters().local_hits, 1U);
}

TEST_F(LaunchTest, ThreadsThatMeetARefusedImageAllGetTheNewOne) {
  for (int round = 0; round < 5; ++round) {
    const kiln::test::ScratchDirectory scratch;
    const auto options = options_in(scratch / "cache");
    const auto target = Target::parse("sm_90a").value();
    const auto good = Runtime::open(options).value().compile(program(), target).value();
    replace_image(scratch / "cache", good.key, compile_for(program(), "sm_80").image);
    Runtime runtime = Runtime::open(options).value();
    std::array<std::string, 8> failures;
    std::vector<std::thread> threads;
    for (auto& failure : failures) {
      threads.emplace_back([&] {
        const auto found = runtime.kernel(program(), "fill<float>");
        if (!found) failure = found.error().message;
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(failures, testing::Each(""));
    EXPECT_EQ(runtime.counters().refusals, 1U);
  }
}

TEST_F(LaunchTest, ADriverThatRefusesWhateverItGetsIsAskedTwice) {
  const kiln::test::ScratchDirectory scratch;
  const auto options = options_in(scratch / "cache");
  ASSERT_TRUE(Runtime::open(options).value().compile(program(), Target::parse("sm_90a").value()));
  Runtime runtime = Runtime::open(options).value();
  fail_("cuLibraryLoadData", CUDA_ERROR_INVALID_IMAGE);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto found = runtime.kernel(program(), "fill<float>");
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().vendor_code, CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(runtime.counters().compiles, 1U) << "dropped once, compiled once, no loop";
    EXPECT_EQ(runtime.counters().refusals, 1U);
  }
}

// The key does not cover a header that kiln cannot follow; the module that is launched must, all the same.
TEST_F(LaunchTest, WhatIsNotKeptIsLoadedAnew) {
  const kiln::test::ScratchDirectory scratch;
  const auto params = [&](const std::string& text) {
    kiln::test::write_file(scratch / "params.cuh", text);
    const auto program = Program::make({.name = "unfollowed.cu",
                                        .source = "#define NAME(x) <x>\n#include NAME(params.cuh)\n"
                                                  "extern \"C\" __global__ void k(PARAMS) {}",
                                        .include_dirs = {scratch.path()}});
    return runtime_.kernel(program.value(), "k").value().info().params.size();
  };
  EXPECT_EQ(params("#define PARAMS int a\n"), 1U);
  EXPECT_EQ(params("#define PARAMS int a, int b\n"), 2U);
}

TEST_F(LaunchTest, ModulesEndWithTheirRuntime) {
  const std::size_t before = library_count_();
  {
    Runtime runtime = open_runtime();
    ASSERT_TRUE(runtime.kernel(program(), "fill<float>").has_value());
    ASSERT_TRUE(runtime.kernel(program(), "twenty").has_value());
    EXPECT_EQ(library_count_(), before + 1);
  }
  EXPECT_EQ(library_count_(), before);
}

TEST_F(LaunchTest, WithoutADriverTheReasonIsGiven) {
  Runtime runtime =
      Runtime::open(
          {.cache_disabled = true, .cuda_driver = stub_driver_path(), .log_level = LogLevel::off})
          .value();
  const auto kernel = runtime.kernel(program(), "fill<float>");
  ASSERT_FALSE(kernel.has_value());
  EXPECT_EQ(kernel.error().code, ErrorCode::driver_missing);
  EXPECT_THAT(kernel.error().message,
              StartsWith("CUDA driver: not available (compile-only mode): "));
  EXPECT_THAT(kernel.error().message, HasSubstr("stub"));
}

}  // namespace
}  // namespace kiln
