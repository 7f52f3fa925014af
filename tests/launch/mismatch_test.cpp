// Arguments that are not what the kernel takes: what is said, and that nothing is launched.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/launch.h"

namespace kiln {
namespace {

struct Pair {
  float first;
  float second;
};
struct alignas(16) Aligned {
  std::array<float, 4> values;
};
struct Loose {
  std::array<float, 4> values;
};
struct alignas(64) Map {
  std::array<std::uint64_t, 16> words;
};

constexpr const char* source = R"(
struct Pair { float first, second; };
struct alignas(16) Aligned { float values[4]; };
struct Loose { float values[4]; };
struct alignas(64) Map { unsigned long long words[16]; };

template <class T> __global__ void fill(T* out, T value) { *out = value; }
extern "C" __global__ void take_pair(int n, Pair pair) {}
extern "C" __global__ void take_aligned(int n, Aligned values) {}
extern "C" __global__ void take_loose(int n, Loose values) {}
extern "C" __global__ void take_map(int n, const __grid_constant__ Map map) {}
)";

const Program& program() {
  static const Program made =
      make_program(source, {"fill<double>", "fill<float>", "fill<int>", "take_pair", "take_aligned",
                            "take_loose", "take_map"});
  return made;
}

class MismatchTest : public FakeDriverTest {
 protected:
  /// The error's text, given one by one and in an Args alike; nothing where it is launched.
  template <class... Ts>
  std::string refusal(const char* expression, const Ts&... values) {
    const Kernel kernel = runtime_.kernel(program(), expression).value();
    const LaunchConfig config{.grid = {1}, .block = {32}};
    const std::size_t before = launch_count_();
    const auto one_by_one = kernel.launch(nullptr, config, values...);
    Args args;
    (args.add(values), ...);
    const auto together = kernel.launch(nullptr, config, args);
    EXPECT_EQ(one_by_one.has_value(), together.has_value());
    if (one_by_one || together) {
      EXPECT_EQ(launch_count_(), before + 2);
      return {};
    }
    EXPECT_EQ(launch_count_(), before);
    EXPECT_EQ(one_by_one.error().code, ErrorCode::argument_mismatch);
    EXPECT_EQ(one_by_one.error().message, together.error().message);
    return one_by_one.error().message;
  }

  Runtime runtime_ = open_runtime();
  double* const pointer_ = nullptr;
};

// Compilers spell it each in its own way.
template <class T>
std::string spelled() {
  return std::string(detail::spelled_name<T>());
}

const std::string kernel_is = "; the kernel is void fill<double>(double*, double)";

TEST_F(MismatchTest, WrongCount) {
  EXPECT_EQ(refusal("fill<double>"),
            "kernel 'fill<double>' takes 2 arguments, 0 were given" + kernel_is);
  EXPECT_EQ(refusal("fill<double>", pointer_),
            "kernel 'fill<double>' takes 2 arguments, 1 were given" + kernel_is);
  EXPECT_EQ(refusal("take_pair", 1, Pair{}, 3),
            "kernel 'take_pair' takes 2 arguments, 3 were given");
}

TEST_F(MismatchTest, WrongSize) {
  EXPECT_EQ(refusal("fill<double>", pointer_, 1.0F),
            "kernel 'fill<double>': argument 2 of 2 takes 8 bytes, but 4 bytes were given (float)" +
                kernel_is);
  EXPECT_EQ(refusal("take_pair", 'x', Pair{}),
            "kernel 'take_pair': argument 1 of 2 takes 4 bytes, but 1 bytes were given (char)");
}

TEST_F(MismatchTest, AnIntegerForANumberWithAPoint) {
  EXPECT_EQ(refusal("fill<double>", pointer_, std::int64_t{1}),
            "kernel 'fill<double>': argument 2 of 2 is double, but " + spelled<std::int64_t>() +
                " was given" + kernel_is);
  EXPECT_EQ(refusal("fill<double>", pointer_, pointer_),
            "kernel 'fill<double>': argument 2 of 2 is double, but " + spelled<double*>() +
                " was given" + kernel_is);
  EXPECT_EQ(refusal("fill<double>", 1.0, 1.0),
            "kernel 'fill<double>': argument 1 of 2 is double*, but double was given" + kernel_is);
  const std::string fill_float = "; the kernel is void fill<float>(float*, float)";
  EXPECT_EQ(refusal("fill<float>", pointer_, 1),
            "kernel 'fill<float>': argument 2 of 2 is float, but int was given" + fill_float);
  EXPECT_EQ(refusal("fill<float>", pointer_, 1.0F), "");
  EXPECT_EQ(refusal("fill<int>", pointer_, 1), "");
  EXPECT_EQ(refusal("fill<int>", pointer_, 1U), "");
  EXPECT_EQ(refusal("fill<int>", pointer_, 1.0F),
            "kernel 'fill<int>': argument 2 of 2 is int, but float was given"
            "; the kernel is void fill<int>(int*, int)");
  // What it found right once, it does not take for the other.
  EXPECT_NE(refusal("fill<float>", pointer_, 1), "");
  EXPECT_NE(refusal("fill<int>", pointer_, 1.0F), "");
  // Nothing tells the type: bytes may mean anything, and C functions have no types.
  EXPECT_EQ(refusal("fill<float>", pointer_, std::array<std::byte, 4>{}), "");
  EXPECT_EQ(refusal("take_pair", 1.0F, Pair{}), "");
}

TEST_F(MismatchTest, WrongStructure) {
  EXPECT_THAT(
      refusal("take_pair", 1, Loose{}),
      testing::MatchesRegex("kernel 'take_pair': argument 2 of 2 takes 8 bytes, but 16 bytes "
                            "were given \\(kiln::.*Loose\\)"));
}

TEST_F(MismatchTest, AValueForAPointer) {
  EXPECT_EQ(refusal("fill<double>", 7, 1.0),
            "kernel 'fill<double>': argument 1 of 2 takes 8 bytes, but 4 bytes were given (int)" +
                kernel_is);
  // All that tells a pointer is its size.
  EXPECT_EQ(refusal("fill<double>", std::uint64_t{7}, 1.0), "");
  EXPECT_EQ(refusal("fill<double>", nullptr, 1.0), "");
}

TEST_F(MismatchTest, WrongAlignment) {
  EXPECT_THAT(
      refusal("take_loose", 1, Aligned{}),
      testing::MatchesRegex("kernel 'take_loose': argument 2 of 2 lies at offset 4, which is "
                            "not aligned to the 16 bytes of what was given "
                            "\\(kiln::.*Aligned\\)"));
  EXPECT_THAT(
      refusal("take_aligned", 1, Loose{}),
      testing::MatchesRegex("kernel 'take_aligned': argument 2 of 2 is aligned to more than "
                            "the 4 bytes of what was given \\(kiln::.*Loose\\)"));
  EXPECT_EQ(refusal("take_aligned", 1, Aligned{}), "");
  EXPECT_EQ(refusal("take_loose", 1, Loose{}), "");
}

TEST_F(MismatchTest, RawBytesPassForAnyTypeOfTheirSize) {
  const Map map{};
  EXPECT_EQ(refusal("take_map", 1, map), "");
  EXPECT_EQ(refusal("take_map", 1, std::as_bytes(std::span(&map, 1))), "");
  EXPECT_EQ(refusal("take_map", 1, std::array<std::byte, 128>{}), "");
  EXPECT_THAT(refusal("take_map", 1, std::as_bytes(std::span(map.words).first(15))),
              testing::HasSubstr("takes 128 bytes, but 120 bytes were given"));
  EXPECT_THAT(refusal("take_map", 1, std::array<char, 128>{}),
              testing::HasSubstr("is aligned to more than the 1 bytes of what was given"));
}

TEST_F(MismatchTest, SpansAreTheirElements) {
  const std::array<float, 4> values{1, 2, 3, 4};
  EXPECT_EQ(refusal("take_loose", 1, std::span(values)), "");
  EXPECT_EQ(refusal("take_loose", 1, std::span<const float>(values)), "");
  EXPECT_EQ(received(launch_count_() - 1, 1), bytes_of(values));
  EXPECT_THAT(refusal("take_loose", 1, std::span<const float>(values).first(3)),
              testing::HasSubstr("takes 16 bytes, but 12 bytes were given (std::span<const float"));
}

TEST_F(MismatchTest, NoElementsAreTheDevicesArrayOfNone) {
  const auto program = make_program(
      "#include <cuda/std/array>\nextern \"C\" __global__ void take_none(int n, "
      "const __grid_constant__ cuda::std::array<double, 0> none, float x) {}",
      {"take_none"});
  const auto kernel = runtime_.kernel(program, "take_none").value();
  const LaunchConfig config{.grid = {1}, .block = {32}};
  kernel.launch(nullptr, config, 1, std::span<const double>(), 2.0F).value();
  EXPECT_EQ(received(launch_count_() - 1, 1), bytes_of(0.0));
  EXPECT_EQ(received(launch_count_() - 1, 2), bytes_of(2.0F));
  kernel.launch(nullptr, config, 1, std::array<double, 0>{}, 3.0F).value();
  EXPECT_EQ(received(launch_count_() - 1, 2), bytes_of(3.0F));
  EXPECT_TRUE(kernel.launch(nullptr, config, Args(1, std::span<double>(), 2.0F)));
  EXPECT_FALSE(kernel.launch(nullptr, config, 1, std::span<const float>(), 2.0F));
}

TEST_F(MismatchTest, ChecksCanBeLeftOut) {
  const Kernel kernel = runtime_.kernel(program(), "take_pair").value();
  const LaunchConfig config{.grid = {1}, .block = {32}};
  const Args args(1U, 2.0);
  EXPECT_TRUE(kernel.launch<std::false_type>(nullptr, config, 1U, 2.0));
  EXPECT_TRUE(kernel.launch<std::false_type>(nullptr, config, args));
  EXPECT_EQ(launch_count_(), 2U);
  const Args wrong(1U, 2.0F);
  EXPECT_FALSE(kernel.launch<std::true_type>(nullptr, config, wrong));
}

}  // namespace
}  // namespace kiln
