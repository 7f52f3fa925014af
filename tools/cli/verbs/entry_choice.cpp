#include "verbs/entry_choice.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "output.h"
#include "system/nearest_name.h"
#include "table.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/kernel_names.h"
#include "verbs/kernel_rows.h"

namespace kiln::cli {

namespace {

using Entries = std::vector<EntrySummary>;
using IsMeant = std::function<bool(const KernelInfo&)>;

tl::unexpected<Error> failure(ErrorCode code, std::string message, std::string log = {}) {
  return tl::unexpected(Error{code, std::move(message), std::move(log), 0});
}

template <class Is>
Entries those(const Entries& all, const Is& is) {
  Entries chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), is);
  return chosen;
}

// The entries that have such a kernel.
std::set<Digest> with_kernel(const std::vector<KernelRow>& kernels, const IsMeant& is_meant) {
  std::set<Digest> keys;
  for (const auto& row : kernels) {
    if (is_meant(row.kernel)) keys.insert(row.entry.key);
  }
  return keys;
}

/// For people; a glob may fit all that there is.
constexpr std::size_t most_candidates = 10;

std::string table_of(const Entries& candidates, std::size_t key_digits) {
  Table table({{"KEY"},
               {"PROGRAM"},
               {"ARCH"},
               {"IMAGE", Align::left, 1},
               {"KERNELS", Align::right, 3},
               {"AGE", Align::right, 2}});
  const auto now = std::time(nullptr);
  const auto shown = std::min(candidates.size(), most_candidates);
  for (const auto& entry : std::span(candidates).first(shown)) {
    table.add({entry.key.hex().substr(0, key_digits), entry.program, entry.arch, entry.kind,
               std::to_string(entry.kernels), format_age(entry.created, now)});
  }
  auto text = table.text(false, width_of(stderr));
  if (shown < candidates.size())
    text += fmt::format("… and {} more; kiln ls lists them\n", candidates.size() - shown);
  return text;
}

// What people write of a kernel: its symbol; its expression, or that without the arguments of a template.
std::vector<std::string> spellings(const KernelInfo& kernel) {
  return {kernel.expression, kernel.symbol,
          kernel.expression.substr(0, kernel.expression.find('<'))};
}

// The name that was probably meant, whole; empty where none is near.
std::string nearest_name(const std::string& word, const Entries& all,
                         const std::vector<KernelRow>& kernels) {
  constexpr std::size_t longest = 100;  // To compare takes the product of the lengths.
  std::map<std::string, std::string> whole;
  for (const auto& entry : all) whole.emplace(entry.program, entry.program);
  for (const auto& row : kernels) {
    for (auto& spelling : spellings(row.kernel)) {
      if (spelling.size() <= longest) whole.emplace(std::move(spelling), row.kernel.expression);
    }
  }
  std::vector<std::string> known;
  known.reserve(whole.size());
  for (const auto& [spelling, name] : whole) known.push_back(spelling);
  const auto nearest = word.size() <= longest ? system::nearest_name(word, known) : std::nullopt;
  return nearest ? printable(whole.at(*nearest)) : std::string();
}

// A word as keys are written: what is copied from elsewhere may have capitals.
std::string as_key(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

std::size_t digits_in_common(std::string_view one, std::string_view other) {
  return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

// The key that has most of its first digits in common with the word; empty for what is no key.
std::string nearest_key(const std::string& word, const Entries& all) {
  if (word.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
  std::string nearest;
  std::size_t most = 2;  // Of some hundred keys, one has as many in common with any word.
  for (const auto& entry : all) {
    const auto key = entry.key.hex();
    const auto common = digits_in_common(word, key);
    if (common <= most) continue;
    most = common;
    nearest = key;
  }
  return nearest;
}

tl::unexpected<Error> none_fits(const std::string& word, const Entries& all,
                                const std::vector<KernelRow>& kernels) {
  auto meant = nearest_key(as_key(word), all);
  if (meant.empty()) meant = nearest_name(word, all, kernels);
  auto advice = meant.empty()
                    ? std::string("kiln ls lists the entries, and kiln kernels their kernels")
                    : fmt::format("did you mean '{}'?", meant);
  if (all.empty()) advice = fmt::format("nothing is kept yet: {} fills it", ways_to_fill);
  return failure(
      ErrorCode::not_found,
      fmt::format("no entry fits '{}': it begins no key, and names no program and no kernel; {}",
                  word, advice));
}

// The entries that a word fits, and how: in words that go before their number.
struct Fitting {
  Entries entries;
  std::string how;
  std::size_t key_digits = 0;  // So many tell them from all others.
};

tl::unexpected<Error> several_fit(const Fitting& fitting, std::string_view advice) {
  return failure(ErrorCode::ambiguous,
                 fmt::format("{} {} entries: {}", fitting.how, fitting.entries.size(), advice),
                 table_of(fitting.entries, fitting.key_digits));
}

constexpr std::string_view by_its_key = "name one by the first digits of its key";

Result<Digest> the_one_of(const Fitting& fitting) {
  if (fitting.entries.size() == 1) return fitting.entries.front().key;
  return several_fit(fitting, by_its_key);
}

// What was made in one second comes in the order in which it was stored. A bundle tells neither.
Result<Digest> the_newest_of(Fitting fitting) {
  auto& entries = fitting.entries;
  const auto is_newer = [](const EntrySummary& one, const EntrySummary& other) {
    return one.created != other.created ? one.created > other.created
                                        : one.stored_since_use < other.stored_since_use;
  };
  std::ranges::sort(entries, is_newer);
  if (entries.size() == 1 || is_newer(entries[0], entries[1])) return entries.front().key;
  return several_fit(fitting, fmt::format("which was made last is not told here; {}", by_its_key));
}

// A program or a kernel may be named as a key begins: "add", "f". What tables show of keys is longer.
constexpr std::size_t longest_name_like_a_key = 7;

Fitting fitting_digits(Cache& cache, const Entries& all, const std::string& word,
                       const Digest& key) {
  const auto named = with_kernel(read_kernels(cache, all, "").rows,
                                 [&](const KernelInfo& kernel) { return is_named(kernel, word); });
  return {those(all,
                [&](const auto& entry) {
                  return entry.key == key || entry.program == word || named.contains(entry.key);
                }),
          fmt::format("'{}' begins a key and is the name of others,", word)};
}

Result<Fitting> fitting_name(Cache& cache, const Entries& all, const std::string& word) {
  auto of_program = those(all, [&](const auto& entry) { return entry.program == word; });
  if (!of_program.empty())
    return Fitting{std::move(of_program), fmt::format("'{}' is the program of", word)};
  const auto kernels = read_kernels(cache, all, "").rows;
  const auto named =
      with_kernel(kernels, [&](const KernelInfo& kernel) { return is_named(kernel, word); });
  auto of_kernel = those(all, [&](const auto& entry) { return named.contains(entry.key); });
  if (!of_kernel.empty())
    return Fitting{std::move(of_kernel), fmt::format("'{}' is a kernel of", word)};
  const auto fit =
      with_kernel(kernels, [&](const KernelInfo& kernel) { return fits(kernel, word); });
  auto fitting = those(all, [&](const auto& entry) {
    return matches(word, entry.program) || fit.contains(entry.key);
  });
  if (!fitting.empty()) return Fitting{std::move(fitting), fmt::format("'{}' fits", word)};
  return none_fits(word, all, kernels);
}

// For what is no key's beginning alone.
Result<Fitting> fitting_entries(Cache& cache, const std::string& word,
                                const Result<Digest>& as_digits) {
  const auto all = cache.list();
  if (!all) return tl::unexpected(all.error());
  Result<Fitting> fitting;
  if (as_digits) {
    fitting = fitting_digits(cache, *all, word, *as_digits);
  } else if (as_digits.error().code == ErrorCode::ambiguous) {
    fitting->entries =
        those(*all, [&](const auto& entry) { return entry.key.hex().starts_with(as_key(word)); });
    fitting->how = fmt::format("'{}' begins the keys of", word);
  } else {
    fitting = fitting_name(cache, *all, word);
  }
  if (fitting) fitting->key_digits = shortest_unique_prefix(*all);
  return fitting;
}

Result<Digest> choose(Cache& cache, const std::string& word, bool newest) {
  if (word.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "'' names no entry: give a key or the first digits of it, or the name of a "
                   "program or a kernel");
  }
  auto key = cache.resolve(word);
  if (key && word.size() > longest_name_like_a_key) return key;
  const auto code = key ? ErrorCode::ambiguous : key.error().code;
  const bool is_fault = code != ErrorCode::ambiguous && code != ErrorCode::not_found &&
                        code != ErrorCode::invalid_argument;
  if (is_fault) return key;
  auto fitting = fitting_entries(cache, word, key);
  if (!fitting) return tl::unexpected(std::move(fitting.error()));
  if (fitting->entries.empty())
    return failure(ErrorCode::not_found, fmt::format("'{}' was removed meanwhile", word));
  return newest ? the_newest_of(std::move(*fitting)) : the_one_of(*fitting);
}

}  // namespace

Result<Digest> choose_entry(Cache& cache, const std::string& word) {
  return choose(cache, word, false);
}

Result<Digest> choose_entry(Cache& cache, const EntryWords& words) {
  auto key = choose(cache, words.key, words.newest);
  if (!key && key.error().code == ErrorCode::ambiguous && !words.newest &&
      choose(cache, words.key, true))
    key.error().message += ", or take the one made last, with --newest";
  return key;
}

StoredEntry find_entry(Cache& cache, const EntryWords& words) {
  return cache.entry(choose_entry(cache, words).value()).value();
}

}  // namespace kiln::cli
