#include "report/report_rows.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "report/report_page.h"

namespace kiln::cli {
namespace {

constexpr std::size_t most_bytes = 10'000'000;

EntrySummary entry_of(std::uint32_t number, const std::string& program) {
  EntrySummary entry;
  entry.key = digest_of(std::to_string(number));
  entry.program = program;
  entry.arch = "sm_90a";
  entry.kind = "cubin";
  entry.toolchain = "NVRTC 13.0";
  entry.image_bytes = 4'000'000'000U + number;
  entry.stored_bytes = 4'000'000'000U + number;
  entry.compile_us = 4'000'000'000'123U + number;
  entry.created = 1'800'000'000;
  entry.stored_since_use = 5'000'000'000;
  entry.kernels = 5;
  return entry;
}

KernelRow kernel_of(const EntrySummary& entry, std::uint32_t number,
                    const std::string& expression) {
  KernelInfo kernel{.expression = expression,
                    .registers = number % 256,
                    .shared_bytes = 232'448,
                    .local_bytes = 4'000'000'000U,
                    .params_known = true};
  return {entry, kernel, {.bytes = 4'000'000'000U, .spills = Spills{number, 4'000'000'000U}}};
}

/// The size of the page, in bytes.
std::size_t page_bytes(const ReportRows& rows) {
  return report_page({{"names", rows.names}, {"entries", rows.entries}, {"kernels", rows.kernels}})
      .size();
}

ReportRows rows_of(std::uint32_t entries, std::uint32_t kernels, const std::string& program,
                   const std::string& expression) {
  std::vector<EntrySummary> all;
  std::vector<KernelRow> rows;
  for (std::uint32_t number = 0; number < entries; ++number) {
    all.push_back(entry_of(number, program + std::to_string(number)));
    for (std::uint32_t kernel = 0; kernel < kernels; ++kernel)
      rows.push_back(kernel_of(all.back(), number, expression + std::to_string(kernel)));
  }
  return report_rows(all, rows);
}

TEST(ReportRows, TenThousandEntriesAreAllThere) {
  const auto rows = rows_of(10'000, 5, "a/program/of/some/engine.cu", "engine::kernel<float, 4>");
  EXPECT_EQ(rows.entries_left_out, 0U);
  EXPECT_EQ(rows.kernels_left_out, 0U);
  EXPECT_EQ(rows.entries["key"].size(), 10'000U);
  EXPECT_EQ(rows.kernels["registers"].size(), 50'000U);
  EXPECT_LT(page_bytes(rows), most_bytes);
}

TEST(ReportRows, WhatIsTooMuchIsLeftOutFromTheEnd) {
  for (const auto& [program, expression] :
       {std::pair{std::string("k.cu"), std::string("k")},
        std::pair{std::string(300, '<'), std::string(300, '<')},
        std::pair{std::string(300, '\x01'), std::string(300, '\xff')}}) {
    const auto rows = rows_of(40'000, 3, program, expression);
    EXPECT_LT(page_bytes(rows), most_bytes);
    EXPECT_GT(rows.entries_left_out, 0U);
    EXPECT_EQ(rows.entries_left_out + rows.entries["key"].size(), 40'000U);
    EXPECT_EQ(rows.kernels_left_out + rows.kernels["entry"].size(), 120'000U);
    // The largest are those of the highest numbers.
    EXPECT_EQ(rows.entries["bytes"][0], 4'000'000'000U + 39'999);
    for (const auto& entry : rows.kernels["entry"]) EXPECT_LT(entry, rows.entries["key"].size());
  }
}

TEST(ReportRows, WhatSpillsMostComesFirst) {
  const auto entry = entry_of(1, "k.cu");
  auto unknown = kernel_of(entry, 9, "unknown");
  unknown.code.spills.reset();
  const auto rows =
      report_rows({entry}, {unknown, kernel_of(entry, 1, "little"), kernel_of(entry, 7, "much")});
  std::vector<std::string> order;
  for (const auto& number : rows.kernels["expression"])
    order.push_back(rows.names[number.get<std::size_t>()]);
  EXPECT_EQ(order, (std::vector<std::string>{"much", "little", "unknown"}));
  EXPECT_TRUE(rows.kernels["spill_store_bytes"][2].is_null());
}

}  // namespace
}  // namespace kiln::cli
