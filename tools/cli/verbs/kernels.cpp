#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/resources.h"
#include "milliseconds.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/kernel_rows.h"

namespace kiln::cli {

namespace {

using Order = bool (*)(const KernelRow&, const KernelRow&);

// What people look for comes first: what takes most. What is not known comes last.
const std::map<std::string, Order>& orders() {
  static const std::map<std::string, Order> all{
      {"program",
       [](const auto& a, const auto& b) {
         return std::tie(a.entry.program, a.entry.arch, a.kernel.expression) <
                std::tie(b.entry.program, b.entry.arch, b.kernel.expression);
       }},
      {"registers",
       [](const auto& a, const auto& b) { return a.kernel.registers > b.kernel.registers; }},
      {"spill", [](const auto& a, const auto& b) { return a.spilled_bytes() > b.spilled_bytes(); }},
      {"shared",
       [](const auto& a, const auto& b) { return a.kernel.shared_bytes > b.kernel.shared_bytes; }},
      {"size", [](const auto& a, const auto& b) { return a.code.bytes > b.code.bytes; }},
      {"compile",
       [](const auto& a, const auto& b) { return a.entry.compile_us > b.entry.compile_us; }},
  };
  return all;
}

// Of the kernels listed.
struct KernelTotals {
  std::size_t kernels = 0;
  std::size_t entries = 0;
  std::size_t spilling = 0;
  std::uint64_t code_bytes = 0;
};

KernelTotals totals_of(const std::vector<KernelRow>& rows) {
  KernelTotals totals{.kernels = rows.size()};
  std::set<Digest> keys;
  for (const auto& row : rows) {
    keys.insert(row.entry.key);
    if (row.spilled_bytes().value_or(0) > 0) ++totals.spilling;
    totals.code_bytes += row.code.bytes.value_or(0);
  }
  totals.entries = keys.size();
  return totals;
}

std::uint64_t parameter_bytes(const KernelInfo& kernel) {
  std::uint64_t bytes = 0;
  for (const auto& param : kernel.params) bytes += param.size;
  return bytes;
}

/// Blocks of as many threads as the command line says; where it says nothing, of the usual number, or of all that the kernel
/// takes.
std::uint32_t threads_for(const KernelRow& row, std::optional<std::uint32_t> asked) {
  constexpr std::uint64_t usual = 256;
  return asked ? *asked
               : static_cast<std::uint32_t>(std::min(usual, row.code.max_threads.value_or(usual)));
}

std::optional<Occupancy> occupancy_of(const KernelRow& row, std::uint32_t threads) {
  const auto full = occupancy(row.entry.arch, row.kernel, threads);
  const bool cannot_run = row.code.max_threads && threads > *row.code.max_threads;
  return full && cannot_run ? Occupancy{.max_warps = full->max_warps} : full;
}

std::vector<std::string> cells(const KernelRow& row, std::optional<std::uint32_t> asked) {
  const auto& [entry, kernel, code] = row;
  const auto bytes = [](bool known, std::uint64_t value) {
    return known ? format_bytes(value) : "-";
  };
  const auto spills = code.spills.value_or(Spills());
  const auto full = occupancy_of(row, threads_for(row, asked));
  return {kernel.expression,
          entry.program,
          entry.arch,
          kernel.params_known ? std::to_string(kernel.registers) : "-",
          bytes(code.spills.has_value(), spills.store_bytes),
          bytes(code.spills.has_value(), spills.load_bytes),
          bytes(kernel.params_known, kernel.local_bytes),
          bytes(kernel.params_known, kernel.shared_bytes),
          bytes(kernel.params_known, parameter_bytes(kernel)),
          bytes(code.bytes.has_value(), code.bytes.value_or(0)),
          full ? std::to_string(full->blocks) : "-",
          full ? fmt::format("{:.0f}%", 100 * full->share()) : "-",
          format_duration(entry.compile_us)};
}

std::string totals_text(const KernelTotals& totals, std::size_t all) {
  return fmt::format("{} of {}, {} of code, {} with spills\n",
                     counted_of(totals.kernels, all, "kernel", "kernels"),
                     counted(totals.entries, "entry", "entries"), format_bytes(totals.code_bytes),
                     totals.spilling);
}

// Why BLOCKS is 0.
std::string too_large_text(const std::vector<KernelRow>& rows, std::optional<std::uint32_t> asked) {
  const auto cannot_run = std::ranges::count_if(rows, [&](const KernelRow& row) {
    const auto full = occupancy_of(row, threads_for(row, asked));
    return full && full->blocks == 0;
  });
  if (cannot_run == 0) return {};
  return fmt::format(
      "{} cannot run in such blocks: launch bounds, registers or shared memory forbid it\n",
      counted(static_cast<std::size_t>(cannot_run), "kernel", "kernels"));
}

// `all`: how many fit, of which these are asked for.
void print_table(const std::vector<KernelRow>& rows, std::size_t all,
                 std::optional<std::uint32_t> asked) {
  if (rows.empty()) return put("no kernel fits\n");
  Table table({{"KERNEL"},
               {"PROGRAM", Align::left, 3},
               {"ARCH"},
               {"REGISTERS", Align::right},
               {"SPILL STORES", Align::right},
               {"SPILL LOADS", Align::right, 1},
               {"LOCAL", Align::right, 4},
               {"SHARED", Align::right, 2},
               {"PARAMETERS", Align::right, 6},
               {"CODE", Align::right, 2},
               {"BLOCKS", Align::right, 5},
               {"OCCUPANCY", Align::right, 1},
               {"COMPILE", Align::right, 7}});
  for (const auto& row : rows) table.add(cells(row, asked));
  put("{}\n{}{}", table.text(wants_colour(stdout), width_of(stdout)),
      totals_text(totals_of(rows), all), too_large_text(rows, asked));
}

Json occupancy_json(const KernelRow& row, std::optional<std::uint32_t> asked) {
  const auto threads = threads_for(row, asked);
  const auto full = occupancy_of(row, threads);
  if (!full) return nullptr;
  return {{"threads", threads}, {"blocks", full->blocks}, {"percent", 100 * full->share()}};
}

Json row_json(const KernelRow& row, std::optional<std::uint32_t> asked) {
  Json document{{"key", row.entry.key.hex()},   {"program", row.entry.program},
                {"arch", row.entry.arch},       {"image", row.entry.kind},
                {"created", row.entry.created}, {"compile_ms", milliseconds(row.entry.compile_us)}};
  document.update(kernel_json(row.kernel, row.code));
  document["param_bytes"] = row.kernel.params_known ? Json(parameter_bytes(row.kernel)) : Json();
  document["occupancy"] = occupancy_json(row, asked);
  return document;
}

void print_documents(const std::vector<KernelRow>& rows, std::optional<std::uint32_t> asked) {
  for (const auto& row : rows) print_json(row_json(row, asked));
  const auto totals = totals_of(rows);
  print_json({{"totals",
               {{"kernels", totals.kernels},
                {"entries", totals.entries},
                {"spilling", totals.spilling},
                {"code_bytes", totals.code_bytes}}}});
}

}  // namespace

std::vector<std::string> kernel_orders() {
  std::vector<std::string> names;
  for (const auto& [name, order] : orders()) names.push_back(name);
  return names;
}

ExitCode list_kernels(const Globals& globals, const KernelsWords& words) {
  check_architectures(words);
  auto cache = open_for_inspection(globals).value();
  auto kernels = read_kernels(cache, wanted_entries(cache.list().value(), words), words.kernel);
  const auto all = kernels.rows.size();
  arrange(kernels.rows, orders().at(words.sort), words);
  if (globals.json) {
    print_documents(kernels.rows, words.threads);
  } else {
    print_table(kernels.rows, all, words.threads);
  }
  return warn_of_damaged(globals, kernels);
}

}  // namespace kiln::cli
