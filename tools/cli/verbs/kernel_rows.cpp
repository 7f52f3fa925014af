#include "verbs/kernel_rows.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "output.h"
#include "verbs/kernel_names.h"

namespace kiln::cli {

namespace {

// What one entry came to.
struct Read {
  std::vector<KernelRow> rows = {};
  bool damaged = false;
};

using Listed = std::unordered_map<Digest, std::vector<ListedKernel>, DigestHash>;

// What the cache tells without images.
Listed listed_kernels(Cache& cache) {
  auto all = cache.kernels().value();
  Listed listed;
  for (auto& [key, kernels] : all) listed.emplace(key, std::move(kernels));
  return listed;
}

std::vector<ListedKernel> kernels_of(const Artifact& artifact) {
  std::vector<ListedKernel> kernels;
  const auto code = kernel_code(artifact);
  for (std::size_t at = 0; at < code.size(); ++at)
    kernels.push_back({artifact.kernels[at], code[at]});
  return kernels;
}

std::vector<KernelRow> rows_of(const EntrySummary& entry, const std::vector<ListedKernel>& kernels,
                               const std::string& glob) {
  std::vector<KernelRow> rows;
  const bool told = std::ranges::any_of(
      kernels, [](const ListedKernel& kernel) { return kernel.info.params_known; });
  for (const auto& [kernel, code] : kernels) {
    const bool is_variable = told && !kernel.params_known;
    if (!is_variable && fits(kernel, glob)) rows.push_back({entry, kernel, code});
  }
  return rows;
}

Read read_entry(Cache& cache, const Listed& listed, const EntrySummary& entry,
                const std::string& glob) {
  if (const auto known = listed.find(entry.key); known != listed.end())
    return {rows_of(entry, known->second, glob)};
  const auto artifact = cache.artifact(entry.key);
  if (!artifact) return {.damaged = artifact.error().code != ErrorCode::not_found};
  return {rows_of(entry, kernels_of(*artifact), glob)};
}

// Decompressing images takes most of the time where there are any to read, and each thread does so for itself.
std::vector<Read> read_all(Cache& cache, const std::vector<EntrySummary>& entries,
                           const std::string& glob) {
  constexpr std::size_t worth_a_thread = 100;
  constexpr std::size_t most_threads = 8;  // They read one after the other.
  const auto listed = listed_kernels(cache);
  std::vector<Read> all(entries.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto at = next++; at < all.size(); at = next++)
      all[at] = read_entry(cache, listed, entries[at], glob);
  };
  const auto threads =
      std::min({most_threads, std::max<std::size_t>(std::thread::hardware_concurrency(), 1),
                entries.size() / worth_a_thread + 1});
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // This thread reads what no other one does.
  }
  work();
  return all;
}

}  // namespace

std::optional<std::uint64_t> KernelRow::spilled_bytes() const noexcept {
  return code.spills ? std::optional(code.spills->store_bytes + code.spills->load_bytes)
                     : std::nullopt;
}

KernelRows read_kernels(Cache& cache, const std::vector<EntrySummary>& entries,
                        const std::string& kernel) {
  auto all = read_all(cache, entries, kernel);
  KernelRows kernels;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at].damaged) kernels.damaged.push_back(entries[at].key.hex());
    std::ranges::move(all[at].rows, std::back_inserter(kernels.rows));
  }
  return kernels;
}

ExitCode warn_of_damaged(const Globals& globals, const KernelRows& kernels) {
  if (!globals.quiet) {
    for (const auto& key : kernels.damaged)
      say("kiln: warning: the entry {} is damaged and left out; kiln verify tells more\n", key);
  }
  return kernels.damaged.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
