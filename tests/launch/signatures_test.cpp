// Random signatures, compiled by NVRTC: whatever a kernel takes, it is given to the byte, where the cubin
// says that it lies. KILN_SIGNATURES_SEED gives another set, KILN_SIGNATURES another number of them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/launch.h"
#include "launch/loaded_image.h"
#include "support/sanitized.h"

namespace kiln {
namespace {

constexpr std::size_t most_arguments = 20;

constexpr const char* device_types = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
enum class Small : unsigned char {};
struct Three { unsigned char bytes[3]; };
struct Mixed { double number; char letter; };
struct Four { float values[4]; };
struct alignas(16) Wide { float values[5]; };
struct alignas(64) Map64 { unsigned long long words[16]; };
struct alignas(128) Map128 { unsigned long long words[16]; };
struct Large { int values[600]; };
struct Nested { Three three; Four four; short last; };
)";

enum class Small : std::uint8_t {};
struct Three {
  std::array<std::uint8_t, 3> bytes;
};
struct Mixed {
  double number;
  char letter;
};
struct Four {
  std::array<float, 4> values;
};
struct alignas(16) Wide {
  std::array<float, 5> values;
};
struct alignas(64) Map64 {
  std::array<std::uint64_t, 16> words;
};
struct alignas(128) Map128 {
  std::array<std::uint64_t, 16> words;
};
struct Large {
  std::array<int, 600> values;
};
struct Nested {
  Three three;
  Four four;
  std::int16_t last;
};

/// What is passed, and what the device calls it.
template <class T>
struct Named {
  using Type = T;
  const char* device;
};

constexpr std::tuple menu{Named<bool>{"bool"},
                          Named<signed char>{"signed char"},
                          Named<char>{"char"},
                          Named<std::uint8_t>{"unsigned char"},
                          Named<std::int16_t>{"short"},
                          Named<std::uint16_t>{"unsigned short"},
                          Named<std::int32_t>{"int"},
                          Named<std::uint32_t>{"unsigned"},
                          Named<std::int64_t>{"long"},
                          Named<unsigned long long>{"unsigned long long"},
                          Named<Small>{"Small"},
                          Named<Half>{"__half"},
                          Named<BFloat16>{"__nv_bfloat16"},
                          Named<Float8E4M3>{"__nv_fp8_e4m3"},
                          Named<Float8E5M2>{"__nv_fp8_e5m2"},
                          Named<float>{"float"},
                          Named<double>{"double"},
                          Named<float*>{"float*"},
                          Named<const void*>{"const void*"},
                          Named<Three>{"Three"},
                          Named<Mixed>{"Mixed"},
                          Named<Four>{"Four"},
                          Named<std::array<float, 4>>{"Four"},
                          Named<Wide>{"const __grid_constant__ Wide"},
                          Named<Map64>{"const __grid_constant__ Map64"},
                          Named<Map128>{"const __grid_constant__ Map128"},
                          Named<Large>{"const __grid_constant__ Large"},
                          Named<Nested>{"Nested"}};

constexpr std::size_t kinds = std::tuple_size_v<decltype(menu)>;

template <std::size_t kind>
using Kind = typename std::tuple_element_t<kind, decltype(menu)>::Type;

using Random = std::mt19937_64;

template <class T>
void randomise(T& value, Random& random) {
  std::array<std::byte, sizeof(T)> bytes;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  if constexpr (std::is_same_v<T, bool>) bytes[0] &= std::byte{1};
  // What pads a structure is random, too, and arrives as it is.
  std::memcpy(static_cast<void*>(&value), bytes.data(), bytes.size());
}

/// Adds a random value of this kind; gives its bytes.
template <std::size_t kind>
std::string add_random(Args& args, Random& random) {
  Kind<kind> value;
  randomise(value, random);
  args.add(value);
  return bytes_of(value);
}

using Add = std::string (*)(Args&, Random&);

template <std::size_t... index>
constexpr std::array<Add, kinds> make_adders(std::index_sequence<index...> /*all*/) {
  return {add_random<index>...};
}
constexpr auto adders = make_adders(std::make_index_sequence<kinds>());

template <std::size_t... index>
constexpr std::array<const char*, kinds> make_names(std::index_sequence<index...> /*all*/) {
  return {std::get<index>(menu).device...};
}
constexpr auto device_names = make_names(std::make_index_sequence<kinds>());

using Signature = std::vector<std::size_t>;

std::string kernel_name(std::size_t index) { return "k" + std::to_string(index); }

/// Kernels k0, k1, … of these signatures.
Program program_of(const std::vector<Signature>& signatures) {
  std::string source = device_types;
  std::vector<std::string> names;
  for (const Signature& signature : signatures) {
    names.push_back(kernel_name(names.size()));
    source += "extern \"C\" __global__ void " + names.back() + "(";
    for (std::size_t position = 0; position < signature.size(); ++position) {
      source += (position != 0 ? ", " : "") + std::string(device_names[signature[position]]) +
                " p" + std::to_string(position);
    }
    source += ") {}\n";
  }
  return make_program(source, names);
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class SignaturesTest : public FakeDriverTest {
 protected:
  void SetUp() override { ASSERT_TRUE(driver_->ensure_context(0).has_value()); }

  [[nodiscard]] std::unique_ptr<const LoadedImage> load(
      const std::vector<Signature>& signatures) const {
    return LoadedImage::load(driver_, driver_->describe_current_device().value(),
                             compile_for(program_of(signatures), "sm_90a"), {})
        .value();
  }

  /// That the one launch since the last reset received these bytes.
  void expect_received(const std::vector<std::string>& expected) const {
    ASSERT_EQ(launch_count_(), 1U);
    ASSERT_EQ(launch_(0).param_count, expected.size());
    for (std::size_t position = 0; position < expected.size(); ++position) {
      ASSERT_EQ(received(0, position), expected[position]) << "argument " << position;
    }
  }

  void launch_random(const KernelRecord& record, const Signature& signature) {
    reset_();
    ASSERT_TRUE(driver_->ensure_context(0).has_value());
    Args args;
    std::vector<std::string> expected;
    for (const std::size_t kind : signature) expected.push_back(adders[kind](args, random_));
    const auto launched = Kernel(record).launch(nullptr, {.grid = {1}, .block = {32}}, args);
    ASSERT_TRUE(launched.has_value()) << launched.error().message;
    expect_received(expected);
    for (std::size_t position = 0; position < signature.size(); ++position) {
      ASSERT_EQ(record.info.params[position].size, expected[position].size());
      ++seen_[position][signature[position]];
    }
  }

  [[nodiscard]] Signature random_signature() {
    Signature signature(random_() % (most_arguments + 1));
    for (std::size_t& kind : signature) kind = random_() % kinds;
    return signature;
  }

  std::shared_ptr<const vendor::Driver> driver_ = vendor::open_driver(fake_driver_path()).value();
  const std::uint64_t seed_ = number_from_environment("KILN_SIGNATURES_SEED", 1);
  Random random_{seed_};
  /// How often each kind was in each position.
  std::array<std::array<std::size_t, kinds>, most_arguments> seen_{};
};

TEST_F(SignaturesTest, RandomOnesArriveToTheByte) {
  const std::uint64_t count =
      number_from_environment("KILN_SIGNATURES", test::is_sanitized ? 1000 : 10000);
  constexpr std::uint64_t in_a_compile = 1000;
  SCOPED_TRACE("KILN_SIGNATURES_SEED=" + std::to_string(seed_));
  for (std::uint64_t done = 0; done < count; done += in_a_compile) {
    std::vector<Signature> signatures(std::min(in_a_compile, count - done));
    for (Signature& signature : signatures) signature = random_signature();
    const auto module = load(signatures);
    for (std::size_t index = 0; index < signatures.size(); ++index) {
      const KernelRecord* record = module->find(kernel_name(index));
      ASSERT_NE(record, nullptr);
      launch_random(*record, signatures[index]);
      if (HasFatalFailure()) return;
    }
  }
  if (count < 10000) return;
  for (const auto& position : seen_) {
    for (const std::size_t times : position) EXPECT_GT(times, 0U);
  }
}

/// A signature that is the same for host and device, chosen while this is compiled.
constexpr std::size_t chosen_length(std::size_t number) { return number % 9; }
constexpr std::size_t chosen_kind(std::size_t number, std::size_t position) {
  return (number * 2654435761U + position * 40503U + (number * position >> 2)) % 1009 % kinds;
}

template <std::size_t number, std::size_t... position>
Signature signature_of(std::index_sequence<position...> /*all*/) {
  return {chosen_kind(number, position)...};
}

template <std::size_t number, std::size_t... position>
std::vector<std::string> launch_chosen(const Kernel& kernel, Random& random,
                                       std::index_sequence<position...> /*all*/) {
  std::tuple<Kind<chosen_kind(number, position)>...> values;
  (randomise(std::get<position>(values), random), ...);
  const auto launched =
      kernel.launch(nullptr, {.grid = {1}, .block = {32}}, std::get<position>(values)...);
  EXPECT_TRUE(launched.has_value()) << launched.error().message;
  return {bytes_of(std::get<position>(values))...};
}

TEST_F(SignaturesTest, ArgumentsGivenOneByOneArriveToTheByte) {
  const auto each = [](const auto& use) {
    [&]<std::size_t... number>(std::index_sequence<number...> /*all*/) {
      (use(std::integral_constant<std::size_t, number>()), ...);
    }
    (std::make_index_sequence<36>());
  };
  std::vector<Signature> signatures;
  each([&](auto number) {
    signatures.push_back(signature_of<number>(std::make_index_sequence<chosen_length(number)>()));
  });
  const auto module = load(signatures);
  each([&](auto number) {
    reset_();
    ASSERT_TRUE(driver_->ensure_context(0).has_value());
    const Kernel kernel(*module->find(kernel_name(number)));
    expect_received(
        launch_chosen<number>(kernel, random_, std::make_index_sequence<chosen_length(number)>()));
  });
}

}  // namespace
}  // namespace kiln
