#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launch/kernel_record.h"

namespace kiln {
namespace {

template <class... Ts>
bool are_like(const TakenArgs& taken, const Ts&... values) {
  return detail::with_arguments<true>(
      [&](const detail::GivenArgs& given) { return taken.are_like(given); }, values...);
}

template <class... Ts>
void remember(TakenArgs& taken, const Ts&... values) {
  detail::with_arguments<true>([&](const detail::GivenArgs& given) { taken.remember(given); },
                               values...);
}

TEST(TakenArgsTest, AreTheFirstThatWereRemembered) {
  float* const pointer = nullptr;
  TakenArgs taken;
  EXPECT_FALSE(are_like(taken, pointer, 1));
  EXPECT_FALSE(are_like(taken));
  remember(taken, pointer, 1);
  EXPECT_TRUE(are_like(taken, pointer, 2));
  EXPECT_FALSE(are_like(taken, pointer, 1.0F)) << "another kind";
  EXPECT_FALSE(are_like(taken, pointer, 1L)) << "another size";
  EXPECT_FALSE(are_like(taken, pointer, 1, 1));
  EXPECT_FALSE(are_like(taken, pointer));
  remember(taken, pointer, 1.0F);
  EXPECT_TRUE(are_like(taken, pointer, 1));
  EXPECT_FALSE(are_like(taken, pointer, 1.0F));
}

TEST(TakenArgsTest, AreNoneOfAKernelWithoutParameters) {
  TakenArgs taken;
  remember(taken);
  EXPECT_TRUE(are_like(taken));
  EXPECT_FALSE(are_like(taken, 1));
}

TEST(TakenArgsTest, AreLikeOthersOfTheirSize) {
  const std::array<int, 3> numbers{};
  TakenArgs taken;
  remember(taken, std::span(numbers).first(2));
  EXPECT_TRUE(are_like(taken, std::array<int, 2>{}));
  EXPECT_FALSE(are_like(taken, std::span(numbers)));
}

template <std::size_t... at>
bool remembers(std::index_sequence<at...>) {
  TakenArgs taken;
  remember(taken, static_cast<int>(at)...);
  return are_like(taken, static_cast<int>(at)...);
}

TEST(TakenArgsTest, AreNotTooMany) {
  EXPECT_TRUE(remembers(std::make_index_sequence<48>()));
  EXPECT_FALSE(remembers(std::make_index_sequence<49>()));
}

TEST(TakenArgsTest, AreOfOneThreadWhole) {
  for (int round = 0; round < 200; ++round) {
    TakenArgs taken;
    std::atomic<int> ready{0};
    const auto run = [&](auto first, auto second) {
      for (++ready; ready < 2;) {
      }
      remember(taken, first, second);
      EXPECT_FALSE(are_like(taken, 1, 2) || are_like(taken, 1.0F, 2.0F));
    };
    std::thread one([&] { run(1, 2.0F); });
    std::thread other([&] { run(1.0F, 2); });
    one.join();
    other.join();
    EXPECT_NE(are_like(taken, 1, 2.0F), are_like(taken, 1.0F, 2));
  }
}

}  // namespace
}  // namespace kiln
