// What a hit costs in a store that machines share, on a Redis server of this machine: kiln's own beside a bare GET of the same
// object, in one run. The helper runs already, as it does for all but the first process. Microseconds.

#include <hiredis/hiredis.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "kiln/cache.h"
#include "kiln/exchange.h"
#include "kiln/kiln.h"
#include "kiln/remote.h"
#include "remote/redis_server.h"
#include "support/scratch.h"
#include "timing.h"

namespace kiln::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view child_flag = "--first-hit";

bool is_small() { return std::getenv("KILN_BENCH_SMALL") != nullptr; }
int programs() { return is_small() ? 8 : 200; }

/// Of an image of 26 KB that does not compress. The compiler makes the table: a source of 60 KB, of which every look-up reads every
/// byte, is another benchmark.
Program make_program(int number) {
  std::string source = R"(
struct Table { unsigned values[5500]; };
__device__ constexpr Table make(unsigned long long seed) {
  Table table{};
  for (unsigned& value : table.values) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    value = static_cast<unsigned>(seed >> 16);
  }
  return table;
}
)";
  source +=
      "__device__ constexpr Table table = make(" + std::to_string(number + 1) + "'000'007ull);";
  source += "\n__global__ void k(unsigned* x) { *x = table.values[*x]; }\n";
  return Program::make({.name = "table.cu", .source = source, .kernels = {"k"}}).value();
}

/// Keeps nothing on the disk, so that each program is asked for once.
Runtime open_asking(const std::string& url) {
  RuntimeOptions options;
  options.cache_disabled = true;
  options.remotes = url + "?read-only";
  return Runtime::open(options).value();
}

std::size_t hit(Runtime& runtime, const Program& program) {
  const auto artifact = runtime.compile(program, "sm_80").value();
  if (artifact.origin != Origin::remote) {
    std::fprintf(stderr, "it was served by %s\n", to_string(artifact.origin));
    std::abort();
  }
  return artifact.image.size();
}

void fill(const std::string& url) {
  const test::ScratchDirectory scratch;
  RuntimeOptions options;
  options.cache_directory = scratch / "cache";
  auto runtime = Runtime::open(options).value();
  for (int number = 0; number < programs(); ++number)
    static_cast<void>(runtime.compile(make_program(number), "sm_80").value());
  auto cache = Cache::open(options.cache_directory.value()).value();
  const auto store = open_store(url, runtime.settings()).value();
  if (push(cache, *store).value().added != static_cast<std::uint64_t>(programs())) std::abort();
}

/// The names of the entries' objects: those that hints lead to.
std::vector<std::string> parcels(redisContext* redis) {
  std::vector<std::string> names;
  auto* const lists = static_cast<redisReply*>(redisCommand(redis, "KEYS kiln:r:*"));
  for (std::size_t at = 0; at < lists->elements; ++at) {
    auto* const name =
        static_cast<redisReply*>(redisCommand(redis, "LINDEX %s 0", lists->element[at]->str));
    names.push_back(std::string("kiln:o:") + name->str);
    freeReplyObject(name);
  }
  freeReplyObject(lists);
  return names;
}

void remote_hit(benchmark::State& state) {
  test::RedisServer server;
  fill(server.url());
  std::vector<Program> wanted;
  for (int number = 0; number < programs(); ++number) wanted.push_back(make_program(number));
  auto* const redis = redisConnectUnix(server.socket_url().substr(13).c_str());
  const auto names = parcels(redis);
  // The helper starts, and connects.
  {
    auto runtime = open_asking(server.url());
    static_cast<void>(runtime.remotes(true));
  }
  Times kiln;
  Times bare;
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto iteration : state) {
    auto runtime = open_asking(server.url());
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      kiln.measure([&] { return bytes = hit(runtime, wanted[at]); });
      bare.measure([&] {
        auto* const reply =
            static_cast<redisReply*>(redisCommand(redis, "GET %s", names[at].c_str()));
        const auto size = reply->len;
        freeReplyObject(reply);
        return size;
      });
    }
  }
  Times first;
  for (int run = 0; run < (is_small() ? 1 : 21); ++run) {
    const auto self = fs::read_symlink("/proc/self/exe").string();
    auto* const output = ::popen(("exec '" + self + "' " + std::string(child_flag) + " '" +
                                  server.url() + "' " + std::to_string(run % programs()))
                                     .c_str(),
                                 "r");
    double time = 0;
    if (output == nullptr || std::fscanf(output, "%lf", &time) != 1 || ::pclose(output) != 0)
      std::abort();
    first.add_microseconds(time);
  }
  state.counters["image_bytes"] = static_cast<double>(bytes);
  state.counters["p50_us"] = kiln.p50();
  state.counters["p99_us"] = kiln.p99();
  state.counters["bare_get_p50_us"] = bare.p50();
  state.counters["over_bare_us"] = kiln.p50() - bare.p50();
  state.counters["first_of_process_us"] = first.p50();
  redisFree(redis);
}
// Each program is asked for once: what was heard lately would be another benchmark.
BENCHMARK(remote_hit)->Iterations(1)->Unit(benchmark::kMillisecond);

int first_hit(const std::string& url, int number) {
  const auto program = make_program(number);
  Times times;
  times.measure([&] {
    auto runtime = open_asking(url);
    return hit(runtime, program);
  });
  std::printf("%f\n", times.p50());
  return 0;
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  if (argc == 4 && argv[1] == kiln::bench::child_flag)
    return kiln::bench::first_hit(argv[2], std::atoi(argv[3]));
  if (!kiln::test::RedisServer::is_installed()) {
    std::puts("remote_hit is skipped: redis-server is not installed");
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
