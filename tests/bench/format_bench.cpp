// The choices behind the cache's file format, measured on plain SQLite and zstd: page size, journal mode,
// compression and its level, a dictionary. See cache/README.md for what came of it.
//
// KILN_BENCH_IMAGES names a folder of images (cubins, as `kiln compile -o` writes them) to compress; without it,
// the benchmarks of compression use made-up ones.

#include <fcntl.h>
#include <unistd.h>
#include <zdict.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <zstd.h>

#include "bench_sample.h"
#include "population.h"
#include "timing.h"

namespace kiln::bench {
namespace {

using benchmark::State;
namespace fs = std::filesystem;

std::size_t sized(std::size_t full, std::size_t small) {
  return std::getenv("KILN_BENCH_SMALL") ? small : full;
}

void require(bool held, const char* what) {
  if (held) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

// ---------------------------------------------------------------------------------------- the database

struct Layout {
  const char* page_size;
  const char* journal;
  const char* synchronous;
};

/// One table of blobs by digest, as the cache's entries are, and the two statements of it.
class Database {
 public:
  Database(const fs::path& file, const Layout& layout) {
    require(sqlite3_open(file.c_str(), &handle_) == SQLITE_OK, "opening");
    sqlite3_busy_timeout(handle_, 1000);
    run("PRAGMA page_size=" + std::string(layout.page_size));
    run("PRAGMA synchronous=" + std::string(layout.synchronous));
    run("PRAGMA journal_mode=" + std::string(layout.journal));
    run("CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, request BLOB, material BLOB, "
        "payload BLOB)");
    run("CREATE INDEX IF NOT EXISTS by_request ON entries(request)");
    insert_ = prepare("INSERT INTO entries(request, material, payload) VALUES(?, ?, ?)");
    select_ = prepare("SELECT material, payload FROM entries WHERE request = ?");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    sqlite3_finalize(insert_);
    sqlite3_finalize(select_);
    sqlite3_close(handle_);
  }

  void run(const std::string& sql) {
    require(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK,
            sql.c_str());
  }

  void put(std::uint64_t number, std::string_view payload) {
    const std::string material = make_request(number).material();
    const Digest digest = digest_of(material);
    bind(insert_, 1, digest.view());
    bind(insert_, 2, material);
    bind(insert_, 3, payload);
    require(sqlite3_step(insert_) == SQLITE_DONE, "putting");
    sqlite3_reset(insert_);
  }

  /// The payload's size, having read it.
  std::uint64_t find(std::uint64_t number) {
    const Digest digest = digest_of(make_request(number).material());
    bind(select_, 1, digest.view());
    require(sqlite3_step(select_) == SQLITE_ROW, "finding");
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(select_, 1));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(select_, 1));
    benchmark::DoNotOptimize(digest_of({bytes, size}));
    sqlite3_reset(select_);
    return size;
  }

 private:
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    require(sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) == SQLITE_OK, sql);
    return statement;
  }

  static void bind(sqlite3_stmt* statement, int index, std::string_view bytes) {
    sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
  }

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
};

/// Payloads of 4.4 to 6.6 KB, as images of 26 KB compress to.
std::string make_payload(std::uint64_t number) {
  std::mt19937 random(static_cast<unsigned>(number));
  std::string bytes(4400 + random() % 2200, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

fs::path new_file() {
  static int number = 0;
  return data_folder() / ("format-" + std::to_string(number++) + ".db");
}

/// A database of this layout with so many entries, written in one transaction, and what they hold.
std::uint64_t fill(const fs::path& file, const Layout& layout, std::uint64_t entries) {
  Database database(file, layout);
  std::uint64_t bytes = 0;
  database.run("BEGIN");
  for (std::uint64_t number = 0; number < entries; ++number) {
    const std::string payload = make_payload(number);
    database.put(number, payload);
    bytes += payload.size() + make_request(number).material().size();
  }
  database.run("COMMIT");
  return bytes;
}

Times time_hits(Database& database, std::uint64_t entries, std::size_t count) {
  std::mt19937_64 random(1);
  Times times;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = random() % entries;
    times.measure([&] { return database.find(number); });
  }
  return times;
}

void layout(State& state, const Layout& layout) {
  const std::uint64_t entries = sized(20'000, 200);
  const fs::path file = new_file();
  const std::uint64_t held = fill(file, layout, entries);
  const double ratio = static_cast<double>(fs::file_size(file)) / static_cast<double>(held);
  Times first_hits;
  for (std::size_t i = 0; i < sized(200, 3); ++i) {
    first_hits.measure([&] {
      auto database = std::make_unique<Database>(file, layout);
      database->find(i);
      return database;
    });
  }
  for ([[maybe_unused]] auto iteration : state) {
    Database database(file, layout);
    const Times hits = time_hits(database, entries, sized(20'000, 100));
    Times puts;
    for (std::uint64_t number = entries; number < entries + sized(200, 3); ++number) {
      const std::string payload = make_payload(number);
      puts.measure([&] { return database.put(number, payload), 0; });
    }
    state.SetIterationTime(1e-6 * hits.p50());
    state.counters["hit_p50"] = hits.p50();
    state.counters["hit_p99"] = hits.p99();
    state.counters["put_p50"] = puts.p50();
    state.counters["first_hit_p50"] = first_hits.p50();
    state.counters["size_ratio"] = ratio;
  }
  fs::remove(file);
}

// --------------------------------------------------------------------------- blobs in rows and in files

/// A blob in a row beside one in a file of its own: where large images should be.
void blob_place(State& state, std::size_t bytes) {
  const fs::path file = new_file();
  const fs::path own = new_file();
  std::string blob = make_image(1, bytes);
  std::ofstream(own, std::ios::binary) << blob;
  Database database(file, {"4096", "DELETE", "FULL"});
  database.put(0, blob);
  Times rows;
  Times files;
  for ([[maybe_unused]] auto iteration : state) {
    rows.measure([&] { return database.find(0); });
    files.measure([&] {
      const int descriptor = ::open(own.c_str(), O_RDONLY | O_CLOEXEC);
      const ssize_t size = ::read(descriptor, blob.data(), blob.size());
      ::close(descriptor);
      benchmark::DoNotOptimize(digest_of({blob.data(), static_cast<std::size_t>(size)}));
      return size;
    });
    state.SetIterationTime(1e-6 * rows.values().back());
  }
  state.counters["row_p50"] = rows.p50();
  state.counters["file_p50"] = files.p50();
  state.counters["ratio_p50"] = rows.p50() / files.p50();
}

// ---------------------------------------------------------------------------------------- compression

std::vector<std::string> images() {
  std::vector<std::string> found;
  if (const char* folder = std::getenv("KILN_BENCH_IMAGES")) {
    for (const auto& item : fs::directory_iterator(folder)) {
      std::ifstream in(item.path(), std::ios::binary);
      found.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    std::sort(found.begin(), found.end());
  }
  for (std::uint64_t number = 0;
       found.empty() || (!std::getenv("KILN_BENCH_IMAGES") && number < 40); ++number) {
    found.push_back(make_image(number, 5'000 + number * 3'000));
  }
  return found;
}

struct Bounds {
  std::size_t least;
  std::size_t most;
};

std::vector<std::string> images_within(const Bounds& bounds) {
  auto all = images();
  std::erase_if(all, [&](const std::string& image) {
    return image.size() < bounds.least || image.size() >= bounds.most;
  });
  return all;
}

struct Compression {
  int level;
  bool plain_literals;
  bool dictionary;
};

/// 64 KiB trained on every other image; the rest are measured.
std::string train(const std::vector<std::string>& all) {
  std::string samples;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    samples += all[i];
    sizes.push_back(all[i].size());
  }
  std::string dictionary(64 << 10, '\0');
  const std::size_t size =
      ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(), sizes.data(),
                            static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(size)) return {};
  dictionary.resize(size);
  return dictionary;
}

using Compressor = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

void compression(State& state, const Compression& how, const Bounds& bounds) {
  const std::string dictionary = how.dictionary ? train(images()) : std::string();
  Compressor compressor(ZSTD_createCCtx(), ZSTD_freeCCtx);
  Decompressor decompressor(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_CCtx_setParameter(compressor.get(), ZSTD_c_compressionLevel, how.level);
  if (how.plain_literals) ZSTD_CCtx_setParameter(compressor.get(), ZSTD_c_experimentalParam5, 2);
  ZSTD_CCtx_loadDictionary(compressor.get(), dictionary.data(), dictionary.size());
  ZSTD_DCtx_loadDictionary(decompressor.get(), dictionary.data(), dictionary.size());

  const auto all = images_within(bounds);
  double raw = 0;
  double stored = 0;
  double in = 0;
  double out = 0;
  for ([[maybe_unused]] auto iteration : state) {
    for (std::size_t i = 1; i < all.size(); i += 2) {
      const std::string& image = all[i];
      std::string packed(ZSTD_compressBound(image.size()), '\0');
      std::string unpacked(image.size(), '\0');
      const auto begin = Clock::now();
      const std::size_t size = ZSTD_compress2(compressor.get(), packed.data(), packed.size(),
                                              image.data(), image.size());
      in += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
      Times times;
      for (int round = 0; round < 15; ++round) {
        times.measure([&] {
          return ZSTD_decompressDCtx(decompressor.get(), unpacked.data(), unpacked.size(),
                                     packed.data(), size);
        });
      }
      require(unpacked == image, "decompressing");
      out += times.p50();
      raw += static_cast<double>(image.size());
      stored += static_cast<double>(size);
    }
    state.SetIterationTime(1e-6 * out);
  }
  state.counters["ratio"] = raw / stored;
  state.counters["in_MBps"] = raw / in;
  state.counters["out_MBps"] = raw / out;
  state.counters["mean_KB"] =
      1e-3 * raw / static_cast<double>(std::max<std::size_t>(1, all.size() / 2));
}

template <class Work, class... Arguments>
void add(const std::string& name, std::size_t iterations, Work work, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), work, arguments...)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(static_cast<benchmark::IterationCount>(iterations));
}

void add_benchmarks() {
  for (const char* page : {"4096", "8192", "16384", "65536"}) {
    add("page/" + std::string(page), 1, layout, Layout{page, "DELETE", "FULL"});
  }
  for (const char* journal : {"DELETE", "TRUNCATE", "PERSIST", "WAL"}) {
    for (const char* synchronous : {"FULL", "NORMAL"}) {
      add("journal/" + std::string(journal) + '/' + synchronous, 1, layout,
          Layout{"4096", journal, synchronous});
    }
  }
  for (const std::size_t bytes : {64 << 10, 256 << 10, 1 << 20, 8 << 20}) {
    add("blob/" + std::to_string(bytes), sized(50, 2), blob_place, bytes);
  }
  constexpr std::pair<const char*, Bounds> sizes[] = {
      {"small", {0, 16'000}}, {"middle", {16'000, 40'000}}, {"large", {40'000, 1 << 30}}};
  for (const auto& [name, bounds] : sizes) {
    const std::string prefix = "zstd/" + std::string(name) + '/';
    for (const int level : {1, 3, 6, 9, 19}) {
      add(prefix + std::to_string(level), 1, compression, Compression{level, false, false}, bounds);
    }
    for (const int level : {3, 6, 9}) {
      add(prefix + std::to_string(level) + "/plain_literals", 1, compression,
          Compression{level, true, false}, bounds);
    }
    add(prefix + "3/dictionary", 1, compression, Compression{3, false, true}, bounds);
    add(prefix + "6/plain_literals/dictionary", 1, compression, Compression{6, true, true}, bounds);
  }
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  kiln::bench::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
