// What kiln::Cache takes, beside what does the same with less care, in one run.
//
// Each time is that of single operations; the counters give their quantiles in microseconds, and ratios of
// quantiles. KILN_BENCH_SMALL in the environment makes a run that only shows that everything works;
// KILN_BENCH_ENTRIES is how many entries the large population has.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <benchmark/benchmark.h>
#include <zstd.h>

#include "bench_cache.h"
#include "bench_child.h"
#include "file_cache.h"
#include "population.h"
#include "timing.h"

namespace kiln::bench {
namespace {

using benchmark::State;

bool small_run() { return std::getenv("KILN_BENCH_SMALL") != nullptr; }

/// Of two sizes of a run, the one that counts.
std::size_t sized(std::size_t full, std::size_t small) { return small_run() ? small : full; }

const std::size_t few = 100;
std::size_t many() {
  const char* entries = std::getenv("KILN_BENCH_ENTRIES");
  return entries ? std::strtoul(entries, nullptr, 10) : sized(100'000, 300);
}

constexpr std::size_t block = 100;

/// So many entries' numbers, drawn from all.
std::vector<std::uint64_t> draw(std::size_t count, std::size_t entries) {
  static std::mt19937_64 random(1);
  std::vector<std::uint64_t> numbers(count);
  for (auto& number : numbers) number = random() % entries;
  return numbers;
}

std::vector<Request> requests_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<Request> requests;
  for (const std::uint64_t number : numbers) requests.push_back(make_request(number));
  return requests;
}

void report(State& state, const std::string& name, const Times& times) {
  state.counters[name + "_p50"] = times.p50();
  state.counters[name + "_p99"] = times.p99();
}

void report_ratios(State& state, const Times& times, const Times& baseline) {
  state.counters["ratio_p50"] = times.p50() / baseline.p50();
  state.counters["ratio_p99"] = times.p99() / baseline.p99();
}

/// Hits of random entries; all three look up, check and decompress. They take turns in blocks, so that
/// whatever else the machine does meets them alike.
void hit_beside_files(State& state, std::size_t entries) {
  const Population& stored = population(entries);
  Cache cache = open_cache(stored.cache);
  FileCache flat(stored.flat_files, FileCache::Layout::flat);
  FileCache fanned(stored.fanned_files, FileCache::Layout::fanned);
  Times hits;
  Times flat_hits;
  Times fanned_hits;
  const auto find_in = [](FileCache& files, const Request& request) {
    return files.find(digest_of(request.material()));
  };
  for ([[maybe_unused]] auto iteration : state) {
    const auto requests = requests_of(draw(block, entries));
    for (const auto& r : requests) hits.measure([&] { return find(cache, r); });
    for (const auto& r : requests) flat_hits.measure([&] { return find_in(flat, r); });
    for (const auto& r : requests) fanned_hits.measure([&] { return find_in(fanned, r); });
    state.SetIterationTime(1e-6 * block * hits.p50());
  }
  report(state, "hit", hits);
  report(state, "flat", flat_hits);
  report(state, "fanned", fanned_hits);
  report_ratios(state, hits, flat_hits.p50() < fanned_hits.p50() ? flat_hits : fanned_hits);
}

/// A hit of 1 MiB beside a read() of as much into memory that is there already.
void hit_of_a_mebibyte(State& state) {
  constexpr std::size_t bytes = 1 << 20;
  const auto directory =
      make_cache("mebibyte", 1, [](std::uint64_t number) { return make_sample(number, bytes); });
  const auto file = data_folder() / "mebibyte.bin";
  std::string buffer = make_image(0, bytes);
  FILE* out = std::fopen(file.c_str(), "w");
  std::fwrite(buffer.data(), 1, bytes, out);
  std::fclose(out);

  Cache cache = open_cache(directory);
  const Request request = make_request(0);
  Times hits;
  Times reads;
  for ([[maybe_unused]] auto iteration : state) {
    hits.measure([&] { return find(cache, request); });
    reads.measure([&] {
      const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
      const ssize_t size = ::read(descriptor, buffer.data(), buffer.size());
      ::close(descriptor);
      return size;
    });
    state.SetIterationTime(1e-6 * hits.values().back());
  }
  report(state, "hit", hits);
  report(state, "read", reads);
  report_ratios(state, hits, reads);
}

/// What a process pays for its first hit, in many processes.
void first_hit_of_a_process(State& state) {
  const Population& small = population(few);
  const Population& large = population(many());
  Times with_few;
  Times with_many;
  for ([[maybe_unused]] auto iteration : state) {
    Child::first_hit(small.cache, draw(1, few).front()).add_times(with_few);
    Child::first_hit(large.cache, draw(1, many()).front()).add_times(with_many);
    state.SetIterationTime(1e-6 * with_many.values().back());
  }
  report(state, "few", with_few);
  report(state, "many", with_many);
  report_ratios(state, with_many, with_few);
}

/// A put beside the least that makes bytes safe on this disk: a write of as much and an fsync.
void put_beside_fsync(State& state) {
  Cache cache = open_cache(make_cache("put", few));
  const auto path = data_folder() / "synced.bin";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string bytes = make_image(0).substr(0, image_bytes / 5);
  Times puts;
  Times syncs;
  std::uint64_t number = few;
  for ([[maybe_unused]] auto iteration : state) {
    const Sample sample = make_sample(number++);
    puts.measure([&] { return put(cache, sample), 0; });
    syncs.measure([&] { return ::write(file, bytes.data(), bytes.size()) + ::fsync(file); });
    state.SetIterationTime(1e-6 * puts.values().back());
  }
  ::close(file);
  report(state, "put", puts);
  report(state, "fsync", syncs);
  report_ratios(state, puts, syncs);
}

/// Eight processes put as fast as they can, and this one hits all the while.
void hit_beside_writers(State& state) {
  constexpr std::uint64_t writers = 8;
  const double seconds = small_run() ? 0.2 : 8;
  const auto directory = make_cache("shared", few);
  Cache cache = open_cache(directory);
  Times hits;
  Times puts;
  std::uint64_t next = few;
  for ([[maybe_unused]] auto iteration : state) {
    std::vector<Child> children;
    for (std::uint64_t i = 0; i < writers; ++i, next += 1'000'000) {
      children.push_back(Child::writer(directory, next, seconds));
    }
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      const Request request = make_request(draw(1, few).front());
      hits.measure([&] { return find(cache, request); });
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (Child& child : children) child.add_times(puts);
    state.SetIterationTime(1e-6 * hits.p50());
  }
  report(state, "hit", hits);
  report(state, "put", puts);
  state.counters["put_p999"] = puts.quantile(0.999);
  state.counters["put_max"] = puts.quantile(1);
  state.counters["puts"] = static_cast<double>(puts.values().size());
}

std::size_t compressed_bytes(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  return ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
}

/// What an entry cannot do without: its image compressed, which kernel has which symbol and the numbers
/// known of it, and what it was asked for by.
std::size_t needed_bytes(const Sample& sample) {
  std::size_t bytes = compressed_bytes(sample.artifact.image) + sample.request.material().size();
  for (const KernelInfo& kernel : sample.artifact.kernels) {
    bytes += kernel.expression.size() + kernel.symbol.size() + 3 * sizeof kernel.registers +
             kernel.params.size() * sizeof(Parameter);
  }
  return bytes;
}

void database_size(State& state) {
  const std::size_t entries = sized(10'000, few);
  for ([[maybe_unused]] auto iteration : state) {
    std::size_t needed = 0;
    std::unordered_set<Digest, DigestHash> texts;
    const auto directory = make_cache("size", entries, [&](std::uint64_t number) {
      Sample sample = make_engine_sample(number);
      needed += needed_bytes(sample);
      for (const Text& text : sample.texts()) {
        if (texts.insert(text.digest).second) needed += compressed_bytes(text.bytes);
      }
      return sample;
    });
    Cache cache = open_cache(directory);
    const auto bytes = static_cast<double>(database_bytes(cache));
    state.SetIterationTime(1);
    state.counters["file_MB"] = 1e-6 * bytes;
    state.counters["needed_MB"] = 1e-6 * static_cast<double>(needed);
    state.counters["ratio"] = bytes / static_cast<double>(needed);
  }
}

template <class Work, class... Arguments>
void add(const std::string& name, std::size_t iterations, Work work, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), work, arguments...)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(static_cast<benchmark::IterationCount>(iterations));
}

/// The search for what is nearest to a request that was missed: by its source, and by a name that no
/// entry has, so that each row is looked at; and as far as the search beside a miss goes.
void alike_among_many(State& state) {
  Cache cache = open_cache(make_cache("alike", many()));
  Request of_the_source = make_request(0);
  of_the_source.program = "none.cu";
  of_the_source.options.emplace_back("-DANOTHER");
  Request of_nothing = of_the_source;
  of_nothing.source = digest_of("another");
  Times by_source;
  Times by_name;
  Times beside_a_miss;
  for ([[maybe_unused]] auto iteration : state) {
    by_source.measure([&] { return cache.alike(of_the_source, {.entries = 1'000, .rows = 0}); });
    by_name.measure([&] { return cache.alike(of_nothing); });
    beside_a_miss.measure([&] { return cache.alike(of_nothing, {.entries = 200, .rows = 2'000}); });
    state.SetIterationTime(1e-6 * by_name.values().back());
  }
  report(state, "by_source", by_source);
  report(state, "by_name", by_name);
  report(state, "beside_a_miss", beside_a_miss);
}

/// Those that wait for the disk come first: writing the large population back would disturb them.
void add_benchmarks() {
  add("put", sized(400, 5), put_beside_fsync);
  add("hit_beside_8_writers", 1, hit_beside_writers);
  add("database_size", 1, database_size);
  add("hit_of_1_MiB", sized(500, 5), hit_of_a_mebibyte);
  add("hit_of_few", sized(200, 2), hit_beside_files, few);
  add("hit_of_many", sized(200, 2), hit_beside_files, many());
  add("alike_among_many", sized(5, 1), alike_among_many);
  add("first_hit_of_process", sized(300, 3), first_hit_of_a_process);
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  if (kiln::bench::ran_as_child(argc, argv)) return 0;
  kiln::bench::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
