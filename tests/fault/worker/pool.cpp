#include "pool.h"

#include <dirent.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "system/whole_io.h"

namespace kiln::test {

namespace {

struct Stat {
  char state = '?';
  pid_t parent = -1;
};

Stat stat_of(const std::string& process) {
  const auto path = "/proc/" + process + "/stat";
  const auto text = system::read_file(path.c_str()).value_or("");  // It may end meanwhile.
  Stat stat;
  const auto name_end = text.rfind(')');
  if (name_end != std::string::npos) {
    std::istringstream(text.substr(name_end + 1)) >> stat.state >> stat.parent;
  }
  return stat;
}

}  // namespace

Pool::Pool(std::size_t workers, const std::function<void(WorkerPoolOptions&)>& adjust)
    : reporter_(LogLevel::warn,
                [this](LogLevel, std::string_view line) {
                  const std::lock_guard lock(mutex_);
                  warnings_.append(line).push_back('\n');
                },
                {}) {
  WorkerPoolOptions options{find_worker(std::nullopt).executable,
                            workers,
                            std::chrono::minutes(2),
                            {std::uint64_t{4} << 30, std::uint64_t{4} << 30}};
  if (adjust) adjust(options);
  pool_ = std::make_unique<WorkerPool>(options, compiler_, reporter_);
}

std::string Pool::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        stat_of(name).parent == ::getpid()) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

bool becomes_true(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool runs(pid_t process) {
  const auto stat = stat_of(fmt::format("{}", process));
  return stat.parent >= 0 && stat.state != 'Z' && stat.state != 'X';
}

}  // namespace kiln::test
