#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "launch/kernel_table.h"

namespace kiln {
namespace {

TEST(KernelTable, FindsWhatWasAddedAndNothingElse) {
  KernelTable table;
  const KernelRecord one;
  const KernelRecord two;
  EXPECT_EQ(table.find(1, 0, "k"), nullptr);
  table.add(1, 0, "k", one);
  table.add(1, 1, "k", two);
  EXPECT_EQ(table.find(1, 0, "k"), &one);
  EXPECT_EQ(table.find(1, 1, "k"), &two);
  EXPECT_EQ(table.find(2, 0, "k"), nullptr);
  EXPECT_EQ(table.find(1, 0, "kk"), nullptr);
  table.add(1, 0, "k", two);
  EXPECT_EQ(table.find(1, 0, "k"), &one) << "the first one stays";
}

TEST(KernelTable, IsReadWhileItGrows) {
  constexpr std::uint64_t programs = 20'000;
  KernelTable table;
  const std::vector<KernelRecord> records(4);
  std::atomic<std::uint64_t> added{0};
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      for (std::uint64_t seen = 0; seen < programs;) {
        seen = added.load(std::memory_order_acquire);
        if (seen != 0 && table.find(seen - 1, 3, "scale<float>") != &records[(seen - 1) % 4])
          ++wrong;
        if (table.find(programs, 3, "scale<float>") != nullptr) ++wrong;
      }
    });
  }
  for (std::uint64_t program = 0; program < programs; ++program) {
    table.add(program, 3, "scale<float>", records[program % 4]);
    added.store(program + 1, std::memory_order_release);
  }
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  for (std::uint64_t program = 0; program < programs; ++program) {
    ASSERT_EQ(table.find(program, 3, "scale<float>"), &records[program % 4]) << program;
  }
}

TEST(KernelTable, IsBounded) {
  KernelTable table;
  const KernelRecord record;
  for (std::uint64_t program = 0; program < KernelTable::most_kernels + 10; ++program) {
    table.add(program, 0, "k", record);
  }
  EXPECT_EQ(table.find(KernelTable::most_kernels - 1, 0, "k"), &record);
  EXPECT_EQ(table.find(KernelTable::most_kernels, 0, "k"), nullptr);
}

}  // namespace
}  // namespace kiln
