#include "front_end_heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compile/precompiled_headers.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

constexpr std::size_t heap_bytes = precompiled_heap_bytes;
constexpr std::size_t page = 4096;
constexpr std::size_t piece = 16 * page;
constexpr int read_and_write = PROT_READ | PROT_WRITE;

class FrontEndHeapTest : public ::testing::Test {
 protected:
  FrontEndHeapTest() {
    for (char letter = 'a'; letter < 'e'; ++letter) text_ += std::string(piece, letter);
    text_.resize(text_.size() - 100);  // So that the file ends within a page.
    write_file(path_, text_);
    file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    region_ = static_cast<char*>(
        heap_.map(nullptr, heap_bytes, read_and_write, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~FrontEndHeapTest() override {
    ::close(file_);
    heap_.unmap(region_, heap_bytes);
  }

  char* map_piece(std::size_t place, std::size_t offset) {
    return static_cast<char*>(heap_.map(region_ + place, piece, read_and_write,
                                        MAP_PRIVATE | MAP_FIXED, file_,
                                        static_cast<off_t>(offset)));
  }

  /// How many parts of the address space this process has mapped to the file.
  [[nodiscard]] long mappings_of_file() const {
    std::ifstream maps("/proc/self/maps");
    return std::count_if(std::istream_iterator<std::string>(maps), {},
                         [&](const std::string& word) { return word == path_.string(); });
  }

  const ScratchDirectory scratch_;
  const std::filesystem::path path_ = scratch_ / "prelude.pch";
  std::string text_;
  int file_ = -1;
  FrontEndHeap heap_;
  char* region_ = nullptr;
};

TEST_F(FrontEndHeapTest, AFileIsReadIntoItsPlace) {
  ASSERT_EQ(map_piece(piece, 2 * piece), region_ + piece);
  EXPECT_EQ(std::string(region_ + piece, piece), std::string(piece, 'c'));
  EXPECT_EQ(std::string(region_, piece), std::string(piece, '\0'));
  EXPECT_EQ(mappings_of_file(), 0);
}

TEST_F(FrontEndHeapTest, WhatIsWrittenThereIsNotWrittenToTheFile) {
  ASSERT_EQ(map_piece(0, 0), region_);
  std::fill_n(region_, piece, 'z');
  EXPECT_EQ(read_file(path_), text_);
  ASSERT_EQ(map_piece(0, 0), region_);
  EXPECT_EQ(std::string(region_, piece), std::string(piece, 'a'));
}

TEST_F(FrontEndHeapTest, BehindTheEndOfAFileIsNothing) {
  std::fill_n(region_, piece, 'z');
  ASSERT_EQ(map_piece(0, 3 * piece), region_);
  EXPECT_EQ(std::string(region_, piece), std::string(piece - 100, 'd') + std::string(100, '\0'));
}

// The front end's temporary file is full of holes, for which the system would make pages if they were read.
TEST_F(FrontEndHeapTest, AHoleIsNothingAndStaysAHole) {
  constexpr std::size_t pieces = 64;
  const auto path = scratch_ / "temporary";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  for (std::size_t at = 0; at < pieces; ++at) {
    // As the front end does: a byte where the next piece begins, then the piece is mapped.
    ASSERT_EQ(::lseek(file, static_cast<off_t>((at + 1) * piece), SEEK_SET), (at + 1) * piece);
    ASSERT_EQ(::write(file, "x", 1), 1);
    char* place = region_ + at * piece;
    std::fill_n(place, piece, 'z');
    ASSERT_EQ(heap_.map(place, piece, read_and_write, MAP_PRIVATE | MAP_FIXED, file,
                        static_cast<off_t>(at * piece)),
              place);
    EXPECT_EQ(place[0], at == 0 ? '\0' : 'x');
    EXPECT_EQ(std::string(place + 1, piece - 1), std::string(piece - 1, '\0'));
    EXPECT_EQ(::lseek(file, 0, SEEK_CUR), (at + 1) * piece + 1);
  }
  void* mapped = ::mmap(nullptr, pieces * piece, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::vector<unsigned char> resident(pieces * piece / page);
  ASSERT_EQ(::mincore(mapped, pieces * piece, resident.data()), 0);
  EXPECT_LE(std::count_if(resident.begin(), resident.end(), [](auto is) { return (is & 1) != 0; }),
            2 * pieces);
  ::munmap(mapped, pieces * piece);
  ::close(file);
}

TEST_F(FrontEndHeapTest, BegunAnewItIsEmpty) {
  ASSERT_EQ(map_piece(0, 0), region_);
  region_[heap_bytes - 1] = 'z';
  ASSERT_EQ(heap_.map(region_, heap_bytes, read_and_write, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
                      -1, 0),
            region_);
  EXPECT_EQ(std::string(region_, piece), std::string(piece, '\0'));
  EXPECT_EQ(region_[heap_bytes - 1], '\0');
}

TEST_F(FrontEndHeapTest, AFileThatCannotBeReadIsTheSystemsBusiness) {
  const int folder = ::open(scratch_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(heap_.map(region_, piece, read_and_write, MAP_PRIVATE | MAP_FIXED, folder, 0),
            MAP_FAILED);
  EXPECT_EQ(errno, ENODEV);
  ::close(folder);
}

TEST_F(FrontEndHeapTest, WhatIsNotOfTheRegionIsMapped) {
  void* elsewhere = heap_.map(nullptr, piece, read_and_write, MAP_PRIVATE, file_, 0);
  ASSERT_NE(elsewhere, MAP_FAILED);
  EXPECT_EQ(mappings_of_file(), 1);
  EXPECT_EQ(heap_.unmap(elsewhere, piece), 0);
  // Of the region, but to be seen by all who map the file.
  ASSERT_EQ(heap_.map(region_, piece, read_and_write, MAP_SHARED | MAP_FIXED, file_, 0), region_);
  EXPECT_EQ(mappings_of_file(), 1);
  region_[0] = 'z';
  EXPECT_EQ(read_file(path_)[0], 'z');
  // Begun anew, the region is given another mapping; the file keeps what it has.
  ASSERT_EQ(heap_.map(region_, heap_bytes, read_and_write, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
                      -1, 0),
            region_);
  EXPECT_EQ(region_[0], '\0');
  EXPECT_EQ(read_file(path_)[0], 'z');
}

TEST_F(FrontEndHeapTest, ARegionThatIsGivenBackIsForgotten) {
  ASSERT_EQ(heap_.unmap(region_, heap_bytes), 0);
  void* same = ::mmap(region_, piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(same, region_);
  ASSERT_EQ(map_piece(0, 0), region_);
  EXPECT_EQ(mappings_of_file(), 1);
}

TEST_F(FrontEndHeapTest, IsLeftToTheSystemWhereThatIsWanted) {
  FrontEndHeap heap;
  heap.leave_to_the_system();
  auto* const region = static_cast<char*>(
      heap.map(nullptr, heap_bytes, read_and_write, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(region, MAP_FAILED);
  heap.map(region, piece, read_and_write, MAP_PRIVATE | MAP_FIXED, file_, 0);
  EXPECT_EQ(mappings_of_file(), 1) << "mapped, and not read";
  EXPECT_EQ(std::string(region, piece), text_.substr(0, piece));
  EXPECT_EQ(heap.unmap(region, heap_bytes), 0);
}

}  // namespace
}  // namespace kiln::test
