#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_choice.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/kernel_rows.h"
#include "verbs/ship.h"

namespace kiln::cli {

namespace {

using Value = std::optional<std::uint64_t>;

// What is compared of a kernel. All of it is better when it is less.
struct Figure {
  const char* name;    ///< For --allow and in regressions.
  const char* member;  ///< In JSON: what other verbs call it there.
  const char* heading;
  bool is_bytes;
  Value (*of)(const KernelRow&);
};

Value if_known(const KernelRow& row, std::uint64_t value) {
  return row.kernel.params_known ? Value(value) : std::nullopt;
}

constexpr std::array figures{
    Figure{"registers", "registers", "REGISTERS", false,
           [](const KernelRow& row) { return if_known(row, row.kernel.registers); }},
    Figure{"spill", "spill_bytes", "SPILLS", true,
           [](const KernelRow& row) { return row.spilled_bytes(); }},
    Figure{"local", "local_bytes", "LOCAL", true,
           [](const KernelRow& row) { return if_known(row, row.kernel.local_bytes); }},
    Figure{"shared", "shared_bytes", "SHARED", true,
           [](const KernelRow& row) { return if_known(row, row.kernel.shared_bytes); }},
    Figure{"size", "code_bytes", "CODE", true, [](const KernelRow& row) { return row.code.bytes; }},
};

/// How much a figure may grow.
struct Growth {
  std::uint64_t amount = 0;
  bool percent = false;

  [[nodiscard]] bool allows(std::uint64_t before, std::uint64_t after) const noexcept {
    if (after <= before) return true;
    const auto more = static_cast<double>(after - before);
    return more <=
           static_cast<double>(amount) * (percent ? static_cast<double>(before) / 100 : 1.0);
  }
};
using Allowed = std::map<std::string, Growth>;

[[noreturn]] void refuse_growth(const std::string& text) {
  std::vector<std::string> names;
  names.reserve(figures.size());
  for (const auto& figure : figures) names.emplace_back(figure.name);
  refuse(
      ErrorCode::invalid_argument,
      fmt::format("--allow {}: a figure and how much it may grow, such as registers=8 or size=5%; "
                  "the figures are {}",
                  text, fmt::join(names, ", ")));
}

std::pair<std::string, Growth> parse_growth(const std::string& text) {
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const bool known =
      std::ranges::any_of(figures, [&](const Figure& figure) { return name == figure.name; });
  if (equals == std::string::npos || !known) refuse_growth(text);
  Growth growth{.percent = text.ends_with('%')};
  const auto* end = text.data() + text.size() - (growth.percent ? 1 : 0);
  const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, growth.amount);
  if (error != std::errc() || rest != end) refuse_growth(text);
  return {name, growth};
}

Allowed parse_allowed(const std::vector<std::string>& texts) {
  Allowed allowed;
  for (const auto& text : texts) {
    const auto [name, growth] = parse_growth(text);
    allowed[name] = growth;
  }
  return allowed;
}

/// What one of the two words names.
struct Side {
  bool is_entry = false;
  KernelRows kernels;
};

Side read_entry(const Globals& globals, const std::string& word) {
  auto opened = open_for_inspection(globals);
  // Exit status 1 tells of a regression; what is not there must not look like that.
  if (!opened) refuse(ErrorCode::io_failed, opened.error().message);
  auto& cache = *opened;
  const auto key = choose_entry(cache, word);
  if (!key) {
    const auto& error = key.error();
    throw Failure({ErrorCode::io_failed,
                   fmt::format("{}: no cache and no bundle, and {}", word, error.message),
                   error.log, 0});
  }
  auto entries = cache.list().value();
  std::erase_if(entries, [&](const EntrySummary& entry) { return entry.key != *key; });
  return {true, read_kernels(cache, entries, "")};
}

// An entry is named after its source, which may lie here.
bool is_source(const std::filesystem::path& file) {
  return file.extension() == ".cu" || file.extension() == ".cuh";
}

Side read_side(const Globals& globals, const std::string& word) {
  std::error_code error;
  if (!std::filesystem::exists(word, error) || is_source(word)) return read_entry(globals, word);
  auto cache = open_shipped(word, settings_of(globals));
  return {false, read_kernels(cache, cache.list().value(), "")};
}

// By what kernels are the same: program, architecture, image and expression.
using Name = std::tuple<std::string, std::string, std::string, std::string>;
/// Several where an entry was made anew, with other options or another compiler. The newest first.
using Candidates = std::vector<const KernelRow*>;
using Named = std::map<Name, Candidates>;

bool is_newer(const KernelRow* one, const KernelRow* other) {
  return one->entry.created > other->entry.created;
}

Named by_name(const KernelRows& kernels, bool of_entries) {
  Named named;
  for (const auto& row : kernels.rows) {
    const auto& entry = row.entry;
    const auto name = of_entries
                          ? Name{"", "", "", row.kernel.expression}
                          : Name{entry.program, entry.arch, entry.kind, row.kernel.expression};
    named[name].push_back(&row);
  }
  for (auto& [name, rows] : named) std::ranges::stable_sort(rows, is_newer);
  return named;
}

const KernelRow* of_key(const Candidates& rows, const Digest& key) {
  const auto at =
      std::ranges::find_if(rows, [&](const KernelRow* row) { return row->entry.key == key; });
  return at != rows.end() ? *at : nullptr;
}

bool are_the_same(const Candidates& before, const Candidates& after) {
  return before.size() == after.size() && std::ranges::all_of(before, [&](const KernelRow* row) {
           return of_key(after, row->entry.key) != nullptr;
         });
}

/// Nothing where it is not told: a bundle has no times, and those of an import are the import's.
const KernelRow* newest(const Candidates& rows) {
  return rows.size() == 1 || is_newer(rows[0], rows[1]) ? rows.front() : nullptr;
}

/// Which of them are compared: the newest of both sides, or one that both have where all are the same. Nothing where it is
/// not told which is the newest.
using Pair = std::pair<const KernelRow*, const KernelRow*>;
std::optional<Pair> paired(const Candidates& before, const Candidates& after) {
  if (are_the_same(before, after))
    return Pair(before.front(), of_key(after, before.front()->entry.key));
  const Pair pair(newest(before), newest(after));
  if (pair.first == nullptr || pair.second == nullptr) return std::nullopt;
  return pair;
}

/// A kernel that is not as it was. `before` or `after` is nullptr where it was not there.
struct KernelDifference {
  const KernelRow* before;
  const KernelRow* after;
  std::vector<std::string> regressions;  ///< The figures that have grown by too much.

  [[nodiscard]] const KernelRow& any() const { return after != nullptr ? *after : *before; }
  [[nodiscard]] const char* change() const {
    if (before == nullptr) return "appeared";
    return after == nullptr ? "went" : "changed";
  }
};

bool differ(const KernelRow& before, const KernelRow& after) {
  return std::ranges::any_of(
      figures, [&](const Figure& figure) { return figure.of(before) != figure.of(after); });
}

std::vector<std::string> regressions(const KernelRow& before, const KernelRow& after,
                                     const Allowed& allowed) {
  std::vector<std::string> found;
  for (const auto& figure : figures) {
    const auto was = figure.of(before);
    const auto is = figure.of(after);
    const auto growth = allowed.find(figure.name);
    const auto may_grow = growth != allowed.end() ? growth->second : Growth();
    if (was && is && !may_grow.allows(*was, *is)) found.emplace_back(figure.name);
  }
  return found;
}

struct Totals {
  std::size_t appeared = 0;
  std::size_t went = 0;
  std::size_t changed = 0;
  std::size_t regressions = 0;  ///< Kernels with one.
  std::size_t same = 0;
  std::size_t untold = 0;  ///< With several entries, of which it is not told which is the newest.
  std::size_t left_out =
      0;  ///< Others of the same name, older ones, which were compared with nothing.
};

class Comparison {
 public:
  Comparison(const Named& before, const Named& after, const Allowed& allowed) : allowed_(allowed) {
    for (const auto& [name, was] : before) {
      const auto is = after.find(name);
      if (is != after.end()) {
        compare(was, is->second);
      } else {
        add_missing(totals_.went, {was.front(), nullptr, {}}, was);
      }
    }
    for (const auto& [name, is] : after) {
      if (!before.contains(name)) add_missing(totals_.appeared, {nullptr, is.front(), {}}, is);
    }
  }

  [[nodiscard]] const std::vector<KernelDifference>& differences() const { return differences_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  void add_missing(std::size_t& count, KernelDifference difference, const Candidates& rows) {
    ++count;
    totals_.left_out += rows.size() - 1;
    differences_.push_back(std::move(difference));
  }

  void compare(const Candidates& before, const Candidates& after) {
    const auto pair = paired(before, after);
    if (!pair) {
      ++totals_.untold;
      return;
    }
    totals_.left_out += before.size() + after.size() - 2;
    const auto& [was, is] = *pair;
    if (!differ(*was, *is)) {
      ++totals_.same;
      return;
    }
    ++totals_.changed;
    differences_.push_back({was, is, regressions(*was, *is, allowed_)});
    if (!differences_.back().regressions.empty()) ++totals_.regressions;
  }

  const Allowed& allowed_;
  std::vector<KernelDifference> differences_;
  Totals totals_;
};

std::string value_text(const Figure& figure, const Value& value) {
  if (!value) return "-";
  return figure.is_bytes ? format_bytes(*value) : std::to_string(*value);
}

std::string arch_text(const KernelDifference& difference) {
  const auto& arch = difference.any().entry.arch;
  if (difference.before == nullptr || difference.before->entry.arch == arch) return arch;
  return fmt::format("{} → {}", difference.before->entry.arch, arch);
}

std::string figure_text(const Figure& figure, const KernelDifference& difference) {
  const auto is = figure.of(difference.any());
  if (difference.before == nullptr || difference.after == nullptr ||
      figure.of(*difference.before) == is)
    return value_text(figure, is);
  return fmt::format("{} → {}", value_text(figure, figure.of(*difference.before)),
                     value_text(figure, is));
}

bool changes_in_any(const Figure& figure, const std::vector<KernelDifference>& differences) {
  return std::ranges::any_of(differences, [&](const KernelDifference& difference) {
    return difference.before != nullptr && difference.after != nullptr &&
           figure.of(*difference.before) != figure.of(*difference.after);
  });
}

// Where there is no room, figures that are as they were go first, and those that are not go last.
std::vector<Column> columns_for(const std::vector<KernelDifference>& differences) {
  std::vector<Column> columns{{"KERNEL"},
                              {"PROGRAM", Align::left, 8},
                              {"ARCH", Align::left, 7},
                              {"IMAGE", Align::left, 8},
                              {"CHANGE"}};
  for (int rank = 1; const auto& figure : figures)
    columns.push_back(
        {figure.heading, Align::right, changes_in_any(figure, differences) ? rank++ : 9});
  columns.push_back({"REGRESSION", Align::left, 6});
  return columns;
}

const char* change_text(const KernelDifference& difference) {
  return difference.regressions.empty() ? difference.change() : "regressed";
}

void print_table(const std::vector<KernelDifference>& differences, const Totals& totals) {
  Table table(columns_for(differences));
  for (const auto& difference : differences) {
    const auto& row = difference.any();
    std::vector<std::string> cells{row.kernel.expression, row.entry.program, arch_text(difference),
                                   row.entry.kind, change_text(difference)};
    for (const auto& figure : figures) cells.push_back(figure_text(figure, difference));
    cells.push_back(fmt::format("{}", fmt::join(difference.regressions, ", ")));
    table.add(std::move(cells));
  }
  if (!differences.empty()) put("{}\n", table.text(wants_colour(stdout), width_of(stdout)));
  put("{} as before, {} changed, {} appeared, {} went; {}\n",
      counted(totals.same, "kernel", "kernels"), totals.changed, totals.appeared, totals.went,
      counted(totals.regressions, "regression", "regressions"));
  if (totals.left_out > 0) {
    put("{} not compared: of several entries of one program, architecture and image, only the "
        "newest is\n",
        counted(totals.left_out, "kernel", "kernels"));
  }
  if (totals.untold > 0) {
    put("{} cannot be compared: of several entries it is not told which is the newest, as in a "
        "bundle, which has no times; name entries by their keys, or compare caches\n",
        counted(totals.untold, "kernel", "kernels"));
  }
}

Json figures_json(const KernelRow* row) {
  if (row == nullptr) return nullptr;
  Json document;
  for (const auto& figure : figures) {
    const auto value = figure.of(*row);
    document[figure.member] = value ? Json(*value) : Json();
  }
  return document;
}

void print_documents(const std::vector<KernelDifference>& differences, const Totals& totals) {
  for (const auto& difference : differences) {
    const auto& row = difference.any();
    print_json({{"program", row.entry.program},
                {"arch", row.entry.arch},
                {"image", row.entry.kind},
                {"expression", row.kernel.expression},
                {"change", difference.change()},
                {"before", figures_json(difference.before)},
                {"after", figures_json(difference.after)},
                {"regressions", difference.regressions}});
  }
  print_json({{"totals",
               {{"same", totals.same},
                {"changed", totals.changed},
                {"appeared", totals.appeared},
                {"went", totals.went},
                {"regressions", totals.regressions},
                {"untold", totals.untold},
                {"left_out", totals.left_out}}}});
}

}  // namespace

ExitCode diff(const Globals& globals, const DiffWords& words) {
  const auto allowed = parse_allowed(words.allowed);
  const auto before = read_side(globals, words.before);
  const auto after = read_side(globals, words.after);
  const bool of_entries = before.is_entry && after.is_entry;
  const auto was = by_name(before.kernels, of_entries);
  const auto is = by_name(after.kernels, of_entries);
  const Comparison comparison(was, is, allowed);
  const auto& differences = comparison.differences();
  const auto& totals = comparison.totals();
  if (globals.json) {
    print_documents(differences, totals);
  } else {
    print_table(differences, totals);
  }
  const auto verdict = totals.regressions == 0 ? ExitCode::done : ExitCode::findings;
  const auto whole = totals.untold == 0 ? ExitCode::done : ExitCode::failure;
  return std::max({verdict, whole, warn_of_damaged(globals, before.kernels),
                   warn_of_damaged(globals, after.kernels)});
}

}  // namespace kiln::cli
