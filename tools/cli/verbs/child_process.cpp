#include "verbs/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "output.h"
#include "system/environment.h"
#include "system/whole_io.h"

extern char** environ;

namespace kiln::cli {

namespace {

[[noreturn]] void failed(const std::string& what) {
  refuse(ErrorCode::io_failed, fmt::format("{}: {}", what, std::strerror(errno)));
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::filesystem::path& search_first) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("PATH=")) all.emplace_back(*entry);
  }
  const char* path = system::variable("PATH");
  all.push_back(fmt::format("PATH={}:{}", search_first.string(), path != nullptr ? path : ""));
  return all;
}

struct Actions {
  Actions() { posix_spawn_file_actions_init(&actions); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};

// The program while it runs. Its end is waited for, and nothing of it left.
class Child {
 public:
  Child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
        const std::filesystem::path& search_first)
      : program_(program) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) failed("cannot make a pipe");
    output_.reset(::fdopen(pipe[0], "r"));
    Actions start;
    posix_spawn_file_actions_adddup2(&start.actions, pipe[1], STDOUT_FILENO);
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    auto environment = environment_with(search_first);
    const int error = ::posix_spawn(&process_, program.c_str(), &start.actions, nullptr,
                                    pointers_to(words).data(), pointers_to(environment).data());
    ::close(pipe[1]);
    errno = error;
    if (error != 0) failed("cannot start " + program.string());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // One that is left in the middle has nobody to write to.
  ~Child() {
    output_.reset();
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
  }

  void read(const std::function<void(std::string_view line)>& line) {
    struct Buffer {
      char* text = nullptr;
      std::size_t room = 0;
      ~Buffer() { std::free(text); }
    } buffer;
    for (ssize_t size; (size = ::getline(&buffer.text, &buffer.room, output_.get())) > 0;) {
      std::string_view read(buffer.text, static_cast<std::size_t>(size));
      if (read.ends_with('\n')) read.remove_suffix(1);
      line(read);
    }
  }

  void finish() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    refuse(ErrorCode::io_failed,
           WIFEXITED(status)
               ? fmt::format("{} failed with status {}", program_.string(), WEXITSTATUS(status))
               : fmt::format("{} was ended by signal {}", program_.string(), WTERMSIG(status)));
  }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  const std::filesystem::path program_;
  std::unique_ptr<std::FILE, CloseFile> output_;
  pid_t process_ = 0;
};

}  // namespace

BytesAsFile::BytesAsFile(std::string_view bytes) : descriptor_(::memfd_create("kiln", 0)) {
  if (descriptor_ < 0) failed("cannot hold the image for another program");
  if (!system::write_whole(descriptor_, bytes)) {
    const int error = errno;
    ::close(descriptor_);
    errno = error;
    failed("cannot hold the image for another program");
  }
}

BytesAsFile::~BytesAsFile() { ::close(descriptor_); }

std::string BytesAsFile::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

void run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::filesystem::path& search_first,
                 const std::function<void(std::string_view line)>& line) {
  Child child(program, arguments, search_first);
  child.read(line);
  child.finish();
}

}  // namespace kiln::cli
