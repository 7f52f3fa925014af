#include "record/image_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t page = 2048 * kib;

struct Image {
  std::shared_ptr<char> bytes;
  std::size_t size;
  char letter;

  Image(std::size_t with_size, char with_letter)
      : bytes(image_memory(with_size)), size(with_size), letter(with_letter) {
    std::memset(bytes.get(), letter, size);
  }
  [[nodiscard]] bool sound() const {
    return std::string(bytes.get(), size) == std::string(size, letter) && bytes.get()[size] == 0;
  }
};

/// So that what follows is taken from large pages.
void read_many() {
  for (int taken = 0; taken < 5; ++taken) static_cast<void>(image_memory(1024 * kib));
}

TEST(ImageMemory, EachImageHasItsOwn) {
  std::vector<Image> images;
  for (std::size_t size = 1; size < 3 * page; size = size * 3 / 2 + 7)
    for (const char letter : {'a', 'b', 'c'}) images.emplace_back(size, letter);
  for (const auto& image : images) EXPECT_TRUE(image.sound()) << image.size;
}

TEST(ImageMemory, IsAlignedAsTheHeapIs) {
  read_many();
  for (std::size_t size = 1; size < page; size = size * 2 + 1)
    EXPECT_EQ(
        reinterpret_cast<std::uintptr_t>(image_memory(size).get()) % alignof(std::max_align_t), 0);
}

TEST(ImageMemory, ARecordsImageIsAlignedWhereverItWouldLie) {
  for (std::size_t before = 0; before < 40; ++before) {
    for (const std::size_t told : {std::size_t{100}, std::size_t{7}, std::size_t{5000}}) {
      ImageBuffer record(before + 100, told);
      const char* const would_lie = record.bytes.get() + before;
      std::memset(record.bytes.get(), 'r', before);
      std::memset(record.bytes.get() + before, 'i', 100);
      const auto image = std::move(record).image(100);
      EXPECT_EQ(image, Bytes(std::string(100, 'i')));
      EXPECT_EQ(image.data()[100], '\0');
      if (before >= alignof(std::max_align_t)) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.data()) % alignof(std::max_align_t), 0)
            << before << ' ' << told;
      }
      if (told == 100) {
        EXPECT_EQ(image.data(), would_lie) << "moved";
      }
    }
  }
}

TEST(ImageMemory, ARecordMayBeTheEndOfAText) {
  auto record = ImageBuffer(std::string("header record image")).last(12);
  EXPECT_EQ(record.view(), "record image");
  EXPECT_EQ(std::string_view(std::move(record).image(5)), "image");
}

TEST(ImageMemory, TheImageOfACopiedFrameIsNotMoved) {
  for (std::size_t before = 0; before < 40; ++before) {
    auto frame = ImageBuffer::copy_of(std::string(before, 'f') + std::string(100, 'i'), 100);
    const char* const lies = frame.bytes.get() + before;
    const auto image = std::move(frame).last(100).image(100);
    EXPECT_EQ(image.data(), lies);
    EXPECT_EQ(image, Bytes(std::string(100, 'i')));
    EXPECT_EQ(image.data()[100], '\0');
  }
}

TEST(ImageMemory, WhatIsTooSmallForItsImageIsCopiedAsItIs) {
  EXPECT_EQ(ImageBuffer::copy_of("compressed", 5000).view(), "compressed");
  EXPECT_EQ(ImageBuffer::copy_of("", 0).view(), "");
  EXPECT_EQ(ImageBuffer::copy_of("", 5000).view(), "");
}

TEST(ImageMemory, ImagesOfAThreadShareALargePage) {
  read_many();
  const Image one(64 * kib, 'a');
  const Image other(64 * kib, 'b');
  const auto apart = other.bytes.get() - one.bytes.get();
  // Where the first one filled its page up, the other is in the next.
  EXPECT_TRUE(apart > 64 * static_cast<long>(kib) || apart < 0);
  const Image next(64 * kib, 'c');
  EXPECT_TRUE(next.bytes.get() - other.bytes.get() == apart || apart < 0);
}

TEST(ImageMemory, APageThatNobodyUsesIsUsedAgain) {
  read_many();
  std::vector<const char*> places;
  for (int taken = 0; taken < 64; ++taken) places.push_back(Image(1000 * kib, 'a').bytes.get());
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  EXPECT_LE(places.size(), 4U);
}

TEST(ImageMemory, OutlivesItsThread) {
  std::vector<Image> images;
  for (const char letter : {'a', 'b', 'c'})
    std::thread([&] {
      for (int taken = 0; taken < 40; ++taken) images.emplace_back(100 * kib, letter);
    }).join();
  for (const auto& image : images) EXPECT_TRUE(image.sound());
}

/// Takes images when the thread's older variables end: those that were made later are gone by then.
struct TakesAtEnd {
  std::vector<Image>* taken = nullptr;
  ~TakesAtEnd() {
    for (char letter = 'a'; letter < 'z'; ++letter) taken->emplace_back(100 * kib, letter);
  }
};

TEST(ImageMemory, IsThereWhileAThreadEnds) {
  std::vector<Image> images;
  std::thread([&] {
    thread_local TakesAtEnd at_end;
    at_end.taken = &images;
    read_many();
    images.emplace_back(100 * kib, 'z');
  }).join();
  ASSERT_EQ(images.size(), 26U);
  for (const auto& image : images) EXPECT_TRUE(image.sound());
}

TEST(ImageMemory, ManyThreadsTakeAndGiveBack) {
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'e'; ++letter)
    threads.emplace_back([letter] {
      std::vector<Image> kept;
      for (std::size_t taken = 0; taken < 400; ++taken) {
        kept.emplace_back((taken % 17 + 1) * 40 * kib, letter);
        if (kept.size() == 10) kept.erase(kept.begin(), kept.begin() + 7);
        for (const auto& image : kept) ASSERT_TRUE(image.sound());
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace kiln::storage
