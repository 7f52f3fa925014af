#include "report/report_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kiln/resources.h"
#include "milliseconds.h"

namespace kiln::cli {

namespace {

// Of the page's 10 MB, what rows and names may take; entries no more than half of it.
constexpr std::size_t most_bytes = 8'000'000;
// More than any row takes without its names.
constexpr std::size_t bytes_of_an_entry = 160;
constexpr std::size_t bytes_of_a_kernel = 100;

/// Numbers names in the order in which they first come.
class Names {
 public:
  explicit Names(Json& list) : list_(list) {}

  Json number_of(const std::string& name) {
    const auto [it, is_new] = numbers_.try_emplace(name, numbers_.size());
    if (is_new) {
      list_.push_back(name);
      // In a page each '<' is six characters.
      const auto json = list_.back().dump(-1, ' ', false, Json::error_handler_t::replace);
      bytes_ += json.size() + 1 + 5 * static_cast<std::size_t>(std::ranges::count(json, '<'));
    }
    return it->second;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  Json& list_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t bytes_ = 0;
};

struct NumberedKernel {
  const KernelRow* row;
  std::size_t entry;  // Its position.
};

template <class Row>
struct Column {
  const char* name;
  Json (*value)(const Row& row, Names& names);
};

constexpr std::array entry_columns{
    Column<EntrySummary>{"key", [](const auto& row, Names&) { return Json(row.key.hex()); }},
    Column<EntrySummary>{
        "program", [](const auto& row, Names& names) { return names.number_of(row.program); }},
    Column<EntrySummary>{"arch",
                         [](const auto& row, Names& names) { return names.number_of(row.arch); }},
    Column<EntrySummary>{"image",
                         [](const auto& row, Names& names) { return names.number_of(row.kind); }},
    Column<EntrySummary>{
        "toolchain", [](const auto& row, Names& names) { return names.number_of(row.toolchain); }},
    Column<EntrySummary>{"kernels", [](const auto& row, Names&) { return Json(row.kernels); }},
    Column<EntrySummary>{"bytes", [](const auto& row, Names&) { return Json(row.image_bytes); }},
    Column<EntrySummary>{"stored_bytes",
                         [](const auto& row, Names&) { return Json(row.stored_bytes); }},
    Column<EntrySummary>{"created", [](const auto& row, Names&) { return Json(row.created); }},
    Column<EntrySummary>{
        "compile_ms", [](const auto& row, Names&) { return Json(milliseconds(row.compile_us)); }},
    Column<EntrySummary>{"stored_since_use",
                         [](const auto& row, Names&) { return Json(row.stored_since_use); }},
    Column<EntrySummary>{"pinned",
                         [](const auto& row, Names&) { return Json(row.pinned ? 1 : 0); }},
};

Json if_told(const KernelRow& row, std::uint64_t figure) {
  return row.kernel.params_known ? Json(figure) : Json();
}

// As `kernels` tells it where nobody says how many threads: in percent.
Json usual_occupancy(const KernelRow& row) {
  constexpr std::uint64_t usual_threads = 256;
  const auto threads = std::min(usual_threads, row.code.max_threads.value_or(usual_threads));
  const auto full = occupancy(row.entry.arch, row.kernel, static_cast<std::uint32_t>(threads));
  return full ? Json(std::lround(100 * full->share())) : Json();
}

constexpr std::array kernel_columns{
    Column<NumberedKernel>{"entry", [](const auto& it, Names&) { return Json(it.entry); }},
    Column<NumberedKernel>{
        "expression",
        [](const auto& it, Names& names) { return names.number_of(it.row->kernel.expression); }},
    Column<NumberedKernel>{
        "registers",
        [](const auto& it, Names&) { return if_told(*it.row, it.row->kernel.registers); }},
    Column<NumberedKernel>{"spill_store_bytes",
                           [](const auto& it, Names&) {
                             const auto& spills = it.row->code.spills;
                             return spills ? Json(spills->store_bytes) : Json();
                           }},
    Column<NumberedKernel>{"spill_load_bytes",
                           [](const auto& it, Names&) {
                             const auto& spills = it.row->code.spills;
                             return spills ? Json(spills->load_bytes) : Json();
                           }},
    Column<NumberedKernel>{
        "local_bytes",
        [](const auto& it, Names&) { return if_told(*it.row, it.row->kernel.local_bytes); }},
    Column<NumberedKernel>{
        "shared_bytes",
        [](const auto& it, Names&) { return if_told(*it.row, it.row->kernel.shared_bytes); }},
    Column<NumberedKernel>{"code_bytes",
                           [](const auto& it, Names&) {
                             const auto& bytes = it.row->code.bytes;
                             return bytes ? Json(*bytes) : Json();
                           }},
    Column<NumberedKernel>{"occupancy",
                           [](const auto& it, Names&) { return usual_occupancy(*it.row); }},
};

/// The columns of as many rows as there is room for.
template <class Row, std::size_t size>
Json columns_of(const std::vector<Row>& rows, const std::array<Column<Row>, size>& columns,
                std::size_t bytes_of_a_row, std::size_t room, Names& names) {
  Json all;
  for (const auto& column : columns) all[column.name] = Json::array();
  const auto before = names.bytes();
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (at * bytes_of_a_row + names.bytes() - before > room) break;
    for (const auto& column : columns) all[column.name].push_back(column.value(rows[at], names));
  }
  return all;
}

bool takes_more(const NumberedKernel& left, const NumberedKernel& right) {
  const auto figures = [](const KernelRow& row) {
    return std::tuple(row.spilled_bytes(), row.kernel.registers, row.code.bytes);
  };
  return figures(*left.row) > figures(*right.row);
}

}  // namespace

ReportRows report_rows(std::vector<EntrySummary> entries, const std::vector<KernelRow>& kernels) {
  ReportRows rows;
  Names names(rows.names);
  std::ranges::stable_sort(entries, std::ranges::greater(), &EntrySummary::image_bytes);
  rows.entries = columns_of(entries, entry_columns, bytes_of_an_entry, most_bytes / 2, names);
  const auto shown = rows.entries["key"].size();
  rows.entries_left_out = entries.size() - shown;

  std::map<Digest, std::size_t> positions;
  for (std::size_t at = 0; at < shown; ++at) positions.emplace(entries[at].key, at);
  std::vector<NumberedKernel> numbered;
  for (const auto& kernel : kernels) {
    const auto entry = positions.find(kernel.entry.key);
    if (entry != positions.end()) numbered.push_back({&kernel, entry->second});
  }
  std::ranges::stable_sort(numbered, takes_more);
  const auto room = most_bytes - shown * bytes_of_an_entry - names.bytes();
  rows.kernels = columns_of(numbered, kernel_columns, bytes_of_a_kernel, room, names);
  rows.kernels_left_out = kernels.size() - rows.kernels["entry"].size();
  return rows;
}

}  // namespace kiln::cli
