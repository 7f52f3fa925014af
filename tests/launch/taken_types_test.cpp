#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launch/kernel_record.h"

namespace kiln {
namespace {

/// Calls `use` with values of these types as a launch gives them.
template <class... Ts, class Use>
auto given(const Use& use) {
  return std::apply(
      [&](const auto&... values) { return detail::with_arguments<true>(use, values...); },
      std::tuple<Ts...>{});
}

template <class... Ts>
bool are(const TakenTypes& taken) {
  return given<Ts...>([&](const detail::GivenArgs& args) { return taken.are(args); });
}

template <class... Ts>
void remember(TakenTypes& taken) {
  given<Ts...>([&](const detail::GivenArgs& args) { taken.remember(args); });
}

TEST(TakenTypesTest, AreTheFirstThatWereRemembered) {
  TakenTypes taken;
  EXPECT_FALSE((are<float*, int>(taken)));
  EXPECT_FALSE(are<>(taken));
  remember<float*, int>(taken);
  EXPECT_TRUE((are<float*, int>(taken)));
  EXPECT_FALSE((are<float*, unsigned>(taken)));
  EXPECT_FALSE((are<float*, int, int>(taken)));
  EXPECT_FALSE(are<float*>(taken));
  remember<float*, unsigned>(taken);
  EXPECT_TRUE((are<float*, int>(taken)));
  EXPECT_FALSE((are<float*, unsigned>(taken)));
}

TEST(TakenTypesTest, AreNoneOfAKernelWithoutParameters) {
  TakenTypes taken;
  remember<>(taken);
  EXPECT_TRUE(are<>(taken));
  EXPECT_FALSE(are<int>(taken));
}

TEST(TakenTypesTest, WhoseSizesMayDifferAreNotRemembered) {
  TakenTypes taken;
  remember<std::span<int>>(taken);
  EXPECT_FALSE(are<std::span<int>>(taken));
  remember<std::array<int, 2>>(taken);
  EXPECT_TRUE((are<std::array<int, 2>>(taken)));
  EXPECT_FALSE((are<std::array<int, 3>>(taken)));
}

template <std::size_t... at>
bool remembers(std::index_sequence<at...>) {
  TakenTypes taken;
  remember<std::conditional_t<at == 0, float, int>...>(taken);
  return are<std::conditional_t<at == 0, float, int>...>(taken);
}

TEST(TakenTypesTest, AreNotTooMany) {
  EXPECT_TRUE(remembers(std::make_index_sequence<24>()));
  EXPECT_FALSE(remembers(std::make_index_sequence<25>()));
}

TEST(TakenTypesTest, AreOfOneThreadWhole) {
  for (int round = 0; round < 200; ++round) {
    TakenTypes taken;
    std::atomic<int> ready{0};
    std::atomic<int> wrong{0};
    const auto run = [&](auto first, auto second) {
      using First = decltype(first);
      using Second = decltype(second);
      for (++ready; ready < 2;) {
      }
      remember<First, Second>(taken);
      if (are<First, int*>(taken) || are<int*, Second>(taken)) ++wrong;
    };
    std::thread one([&] { run(1, 2.0F); });
    std::thread other([&] { run(1.0F, 2); });
    one.join();
    other.join();
    EXPECT_EQ(wrong, 0);
    const bool mixed = are<int, int>(taken) || are<float, float>(taken);
    EXPECT_FALSE(mixed);
    EXPECT_NE((are<int, float>(taken)), (are<float, int>(taken)));
  }
}

}  // namespace
}  // namespace kiln
