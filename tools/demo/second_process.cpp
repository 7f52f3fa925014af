#include "second_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace demo {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void require(bool condition, int error, const std::string& what) {
  if (!condition) throw std::system_error(error, std::generic_category(), what);
}

/// A process whose standard output is read to its end.
class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    require(pipe2(ends.data(), O_CLOEXEC) == 0, errno, "no pipe for the second process");
    output_ = ends[0];
    const int error = spawn(words, ends[1]);
    close(ends[1]);
    if (error != 0) close(output_);
    require(error == 0, error, "cannot start " + words.front());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { close(output_); }

  [[nodiscard]] std::string output() const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t count = read(output_, buffer.data(), buffer.size());
      if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) return text;
    }
  }

  void wait() const {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  int spawn(std::vector<std::string>& words, int standard_output) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, standard_output, STDOUT_FILENO);
    // This thread has signals blocked (fresh_folder.h); they have to end the other process.
    posix_spawnattr_t attributes{};
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawn(&process_, words.front().c_str(), &actions, &attributes,
                                  arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }

  pid_t process_ = 0;
  int output_ = -1;
};

std::string table_of(const std::vector<Image>& images) {
  std::string text = fmt::format("{:<20} {:<7} {:>8} {:>9} {:>8} {:>8}  {}\n", "program", "arch",
                                 "kernels", "cold ms", "warm us", "ratio", "origin");
  for (const auto& [artifact, microseconds] : images) {
    const auto cold = static_cast<double>(artifact.compile_us);
    text += fmt::format("{:<20} {:<7} {:>8} {:>9.1f} {:>8.0f} {:>7.0f}x  {}\n", artifact.program,
                        artifact.arch, artifact.kernels.size(), cold / 1000, microseconds,
                        cold / microseconds, kiln::to_string(artifact.origin));
  }
  return text;
}

Served served_of(const std::string& document) {
  const Json found = Json::parse(document, nullptr, false);
  if (found.is_discarded()) {
    throw std::runtime_error("the second process, which was to be served, has failed");
  }
  Served served{.process_microseconds = found.at("process_us")};
  for (const Json& image : found.at("images")) {
    served.images.push_back({image.at("served"), image.at("us")});
  }
  return served;
}

}  // namespace

std::string summary_of(const std::vector<Image>& images, double process_microseconds,
                       bool verbose) {
  std::size_t served = 0;
  double cold = 0;
  double warm = 0;
  for (const Image& image : images) {
    if (image.served()) served += image.artifact.kernels.size();
    cold += static_cast<double>(image.artifact.compile_us);
    warm += image.microseconds;
  }
  return (verbose ? table_of(images) + '\n' : "") +
         fmt::format(
             "{} kernels served, {} compiled: {:.0f} us instead of {:.2f} s ({:.0f} times less); "
             "the process took {:.1f} ms\n",
             served, kernel_count(images) - served, warm, cold / 1e6, cold / warm,
             process_microseconds / 1000);
}

std::string document_of(const std::vector<Image>& images, double process_microseconds) {
  Json listed = Json::array();
  for (const Image& image : images) {
    listed.push_back({{"program", image.artifact.program},
                      {"arch", image.artifact.arch},
                      {"kernels", image.artifact.kernels.size()},
                      {"served", image.served()},
                      {"us", image.microseconds}});
  }
  return Json{{"images", std::move(listed)}, {"process_us", process_microseconds}}.dump() + '\n';
}

Served run_second_process(const fs::path& cache, const Architectures& architectures) {
  const Child child({fs::read_symlink("/proc/self/exe").string(), "--serve", "--json", "--cache",
                     cache.string(), "--arch", fmt::format("{}", fmt::join(architectures, ","))});
  const std::string output = child.output();
  child.wait();
  return served_of(output);
}

}  // namespace demo
