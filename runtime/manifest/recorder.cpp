#include "manifest/recorder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "manifest/manifest_json.h"
#include "system/descriptor.h"
#include "system/file_size_signal.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"

namespace kiln {

namespace {

// Whoever holds it writes some megabytes, and needs much less.
constexpr auto lock_patience = std::chrono::seconds(2);

tl::unexpected<Error> system_failure(std::string_view what) {
  return fail(ErrorCode::io_failed, fmt::format("{}: {}", what, std::strerror(errno)));
}

// False where another process holds it. True also on a filesystem without locks, which is written to without.
bool lock(int file) {
  const auto until = std::chrono::steady_clock::now() + lock_patience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Result<std::string> read_from(int file, off_t begin, off_t end) {
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const auto got = ::pread(file, text.data() + length, text.size() - length,
                             begin + static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure("cannot be read");
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

}  // namespace

Recorder::Recorder(std::filesystem::path file, std::function<void(const std::string&)> warn)
    : file_(std::move(file)), warn_(std::move(warn)) {}

bool Recorder::wants(const Digest& request) {
  const std::lock_guard guard(mutex_);
  return !ended_ && !noted_.contains(request);
}

void Recorder::note(const Digest& request, const Result<ListedProgram>& listed) {
  const auto line = listed ? record_line(*listed) : RecordLine{};
  const std::lock_guard guard(mutex_);
  if (ended_ || noted_.contains(request)) return;
  const auto appended = listed ? append(line) : Result<bool>(tl::unexpected(listed.error()));
  if (appended && !*appended)
    return tell("another process holds its lock; some requests are not written down yet");
  noted_.insert(request);
  if (appended) return;
  ended_ = appended.error().code == ErrorCode::io_failed && listed;
  tell(fmt::format("{}; {}", appended.error().message,
                   ended_ ? "nothing more is written down" : "that program is not written down"));
}

void Recorder::tell(const std::string& what) {
  if (!std::exchange(told_, true)) warn_(fmt::format("the record {}: {}", file_.string(), what));
}

// False where another process holds the lock.
Result<bool> Recorder::append(const RecordLine& line) {
  // Opened anew each time: a forked child would share its parent's lock. None is forked while it is open.
  const system::NoFork no_fork;
  const system::Descriptor file(
      system::open_file(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  if (!file && errno == ENOENT)
    return fail(ErrorCode::io_failed, "its folder is not there: make that first");
  if (!file) return system_failure("cannot be opened");
  if (!lock(file.get())) return false;
  if (const auto read = read_what_others_added(file.get()); !read)
    return tl::unexpected(read.error());
  if (programs_.contains(line.digest)) return true;
  if (const auto written = write_line(file.get(), line); !written)
    return tl::unexpected(written.error());
  return true;
}

Outcome Recorder::read_what_others_added(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return system_failure("cannot be read");
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::io_failed, "is no plain file");
  // Another user could change it, and so decide what is written and what is prewarmed later.
  if (status.st_uid != ::geteuid())
    return fail(ErrorCode::io_failed, "belongs to another user: name another file");
  if (status.st_dev != device_ || status.st_ino != inode_ || status.st_size < read_) {
    programs_.clear();
    texts_.clear();
    read_ = 0;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  auto added = read_from(file, read_, status.st_size);
  if (!added) return tl::unexpected(added.error());
  const auto whole = added->rfind('\n') + 1;  // 0 where there is no line.
  if (auto learned = learn(std::string_view(*added).substr(0, whole)); !learned) return learned;
  read_ += static_cast<off_t>(whole);
  if (whole == added->size()) return {};
  // A killed writer left it torn: whoever writes holds the lock, and this process has it now.
  const auto torn = std::string_view(*added).substr(whole);
  if (!torn.starts_with(R"({"kiln_manifest")") || Json::accept(torn))
    return fail(ErrorCode::io_failed, "is no record: name another file");
  if (::ftruncate(file, read_) != 0) return system_failure("cannot be mended");
  return {};
}

Outcome Recorder::learn(std::string_view lines) {
  for (; !lines.empty(); lines.remove_prefix(lines.find('\n') + 1)) {
    const auto line = lines.substr(0, lines.find('\n'));
    const auto document = nests_too_deep(line) ? Json() : Json::parse(line, nullptr, false);
    if (!document.is_object() || !document.contains("kiln_manifest") ||
        !document.contains("programs"))
      return fail(ErrorCode::io_failed, "is no record that kiln wrote: name another file");
    for (const auto& program : document["programs"]) programs_.insert(digest_of(program.dump()));
    if (!document.contains("texts")) continue;
    for (const auto& [hex, text] : document["texts"].items()) {
      if (const auto digest = Digest::from_hex(hex)) texts_.insert(*digest);
    }
  }
  return {};
}

Outcome Recorder::write_line(int file, const RecordLine& line) {
  auto texts = Json::object();
  for (const auto& [digest, text] : line.texts) {
    if (!texts_.contains(digest)) texts[digest.hex()] = text_json(*text);
  }
  const auto bytes = line_text(line.program, std::move(texts));
  if (!bytes) {
    return fail(bytes.error().code, fmt::format("{}: {}", line.program["name"].get<std::string>(),
                                                bytes.error().message));
  }
  const system::FileSizeSignalHeld held;
  ssize_t written = -1;
  do {
    written = ::write(file, bytes->data(), bytes->size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(bytes->size())) {
    if (written >= 0) errno = ENOSPC;
    const auto failure = system_failure("cannot be written");
    // Where this fails too, the next writer cuts off the half line.
    if (written > 0 && ::ftruncate(file, read_) != 0) return failure;
    return failure;
  }
  read_ += written;
  programs_.insert(line.digest);
  for (const auto& [digest, text] : line.texts) texts_.insert(digest);
  return {};
}

}  // namespace kiln
