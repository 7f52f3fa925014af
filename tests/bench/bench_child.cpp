#include "bench_child.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "bench_cache.h"

namespace kiln::bench {
namespace {

constexpr std::string_view child_flag = "--child";

void print(const Times& times) {
  for (const double time : times.values()) std::printf("%.3f\n", time);
}

void measure_first_hit(const char* directory, std::uint64_t number) {
  const Request request = make_request(number);
  Times times;
  times.measure([&] {
    Cache cache = open_cache(directory);
    return std::pair(find(cache, request), std::move(cache));
  });
  print(times);
}

void measure_puts(const char* directory, std::uint64_t number, double seconds) {
  Cache cache = open_cache(directory);
  Times times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const Sample sample = make_sample(number++);
    times.measure([&] { return put(cache, sample), 0; });
  }
  print(times);
}

std::string quoted(const std::filesystem::path& path) { return '\'' + path.string() + '\''; }

}  // namespace

Child Child::first_hit(const std::filesystem::path& cache, std::uint64_t number) {
  return Child("first-hit " + quoted(cache) + ' ' + std::to_string(number));
}

Child Child::writer(const std::filesystem::path& cache, std::uint64_t first, double seconds) {
  return Child("write " + quoted(cache) + ' ' + std::to_string(first) + ' ' +
               std::to_string(seconds));
}

Child::Child(const std::string& arguments) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "exec " + quoted(self) + ' ' + std::string(child_flag) + ' ' + arguments;
  output_ = ::popen(command.c_str(), "r");
  if (!output_) std::exit(1);
}

Child::Child(Child&& other) noexcept : output_(std::exchange(other.output_, nullptr)) {}

Child::~Child() {
  if (output_) ::pclose(output_);
}

void Child::add_times(Times& times) {
  double time = 0;
  while (std::fscanf(output_, "%lf", &time) == 1) times.add_microseconds(time);
  if (::pclose(std::exchange(output_, nullptr)) != 0) std::exit(1);
}

bool ran_as_child(int count, char** arguments) {
  if (count < 5 || arguments[1] != child_flag) return false;
  const std::uint64_t number = std::strtoull(arguments[4], nullptr, 10);
  if (arguments[2] == std::string_view("first-hit")) {
    measure_first_hit(arguments[3], number);
  } else {
    measure_puts(arguments[3], number, count > 5 ? std::strtod(arguments[5], nullptr) : 0);
  }
  return true;
}

}  // namespace kiln::bench
