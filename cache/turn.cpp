#include "turn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "cache_impl.h"
#include "file/private_path.h"
#include "record/fields.h"
#include "record/frame.h"
#include "system/file_size_signal.h"
#include "system/whole_io.h"

namespace kiln {
namespace {

using storage::FrameOwner;
using storage::Tag;
using Clock = std::chrono::steady_clock;

constexpr unsigned levels = 8;
constexpr std::uint64_t slots = 64;
constexpr std::size_t slot_bytes = 65'536;
constexpr std::size_t longest_log = 49'152;

constexpr std::chrono::milliseconds first_nap{1};
constexpr std::chrono::milliseconds longest_nap{16};
/// A process takes over once it has seen the holder stopped for so long.
constexpr std::chrono::milliseconds stopped_patience{250};

/// Who holds a byte. A slot begins with one for each level.
struct Signature {
  Digest what;
  std::uint64_t process = 0;
  std::uint64_t started = 0;  ///< Tells a process from a later one of the same id.
};
constexpr std::size_t signatures_bytes = levels * sizeof(Signature);

std::uint64_t number_of(const Digest& digest) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < sizeof number; ++at) number = number << 8 | digest.bytes[at];
  return number;
}

off_t slot_of(const Digest& what) {
  return static_cast<off_t>(number_of(what) % slots * slot_bytes);
}

/// Offsets are signed, and the eight bytes of a turn are neighbours.
struct flock byte_of(const Digest& what, unsigned level, short type) {
  const auto first = (number_of(what) >> 1) / levels * levels + level;
  return storage::byte_range(type, static_cast<off_t>(first), 1);
}

struct Failure {
  std::uint64_t began_ns =
      0;  ///< When the turn was had that failed, by the clock that all processes share.
  Error error;
};

struct ProcessState {
  char state = '?';
  std::uint64_t started = 0;
};

/// From /proc/PID/stat: the state is field 3 and the start time, in clock ticks since the boot, field
/// 22; the name before them, in parentheses, may hold anything (proc(5)).
ProcessState state_of(std::uint64_t process) {
  const auto path = "/proc/" + std::to_string(process) + "/stat";
  const auto line = system::read_file(path.c_str()).value_or("");
  const auto after_name = line.rfind(')');
  ProcessState found;
  if (after_name == std::string::npos) return found;
  unsigned long long started = 0;
  const int fields = std::sscanf(line.c_str() + after_name + 1,
                                 " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                 "%*s %*s %*s %llu",
                                 &found.state, &started);
  if (fields == 2) found.started = started;
  return found;
}

constexpr auto failure_fields = [](auto& fields, auto& failure) {
  auto& [began_ns, error] = failure;
  fields.version(Tag::failure_version, 2);
  fields.field(Tag::failure_began, began_ns);
  fields.field(Tag::failure_code, error.code);
  fields.require(error.code >= ErrorCode{} && error.code <= ErrorCode::io_failed);
  fields.field(Tag::failure_message, error.message);
  fields.field(Tag::failure_log, error.log);
  fields.field(Tag::failure_vendor_code, error.vendor_code);
};

FrameOwner owner_of(const Digest& what) { return {FrameOwner::Table::failures, what}; }

/// CLOCK_MONOTONIC, which is one for all processes of a machine.
std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}

}  // namespace

std::unique_ptr<Turn::Impl> Turn::Impl::take(const std::filesystem::path& file, const Digest& what,
                                             std::chrono::milliseconds patience,
                                             const std::stop_token& stop,
                                             const storage::Trust& trust) {
  auto turn = std::make_unique<Impl>();
  turn->what_ = what;
  if (!storage::private_file_exists(file, trust)) return turn;
  turn->descriptor_ = storage::LockDescriptor(file, trust);
  if (storage::is_only_name_of(file.c_str(), turn->descriptor_.get())) turn->wait(patience, stop);
  return turn;
}

Turn::Impl::~Impl() {
  if (!held || !descriptor_.is_own()) return;
  // A child made by other means than fork() may share the open file: then the close alone does not unlock it.
  auto byte = byte_of(what_, *held, F_UNLCK);
  ::fcntl(descriptor_.get(), F_OFD_SETLK, &byte);
}

void Turn::Impl::wait(std::chrono::milliseconds patience, const std::stop_token& stop) {
  const auto deadline = Clock::now() + patience;
  const auto came_ns = now_ns();
  auto nap = first_nap;
  unsigned tried = 0;
  auto last_seen_running = Clock::now();
  while (!try_lock(tried)) {
    // Locks that do not work here, as on some network filesystems, are no reason to wait.
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return;
    waited = true;
    const auto now = Clock::now();
    if (now >= deadline || stop.stop_requested()) return;
    if (!holder_is_stopped(tried)) last_seen_running = now;
    if (now - last_seen_running >= stopped_patience) {
      if (++tried == levels) return;
      last_seen_running = now;
      continue;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, longest_nap);
  }
  held = tried;
  if (waited) failure = read_failure(came_ns);
  began_ns_ = now_ns();
  sign(tried);
}

bool Turn::Impl::try_lock(unsigned level) const {
  auto byte = byte_of(what_, level, F_WRLCK);
  return ::fcntl(descriptor_.get(), F_OFD_SETLK, &byte) == 0;
}

/// Best effort: where this fails, others wait up to their patience, even if the holder is stopped.
void Turn::Impl::sign(unsigned level) const {
  const auto process = static_cast<std::uint64_t>(::getpid());
  const Signature signature{what_, process, state_of(process).started};
  const auto offset = slot_of(what_) + static_cast<off_t>(level * sizeof signature);
  const system::FileSizeSignalHeld held;
  [[maybe_unused]] const auto written =
      ::pwrite(descriptor_.get(), &signature, sizeof signature, offset);
}

bool Turn::Impl::holder_is_stopped(unsigned level) const {
  Signature signature;
  const auto offset = slot_of(what_) + static_cast<off_t>(level * sizeof signature);
  if (::pread(descriptor_.get(), &signature, sizeof signature, offset) != sizeof signature)
    return false;
  if (signature.what != what_) return false;
  const auto holder = state_of(signature.process);
  return (holder.state == 'T' || holder.state == 't') && holder.started == signature.started;
}

// A slot's failure stands behind the signatures: length u32 in the machine's order, then a frame around its record.

/// Of a turn that was had since then.
std::optional<Error> Turn::Impl::read_failure(std::uint64_t since_ns) const {
  const auto record = storage::FrameDecoder().decode(read_failure_frame(), owner_of(what_));
  if (!record) return std::nullopt;
  auto told = storage::read_record<Failure>(*record, failure_fields);
  if (!told || told->began_ns < since_ns) return std::nullopt;
  return std::move(told->error);
}

std::string Turn::Impl::read_failure_frame() const {
  std::uint32_t size = 0;
  const off_t offset = slot_of(what_) + static_cast<off_t>(signatures_bytes);
  if (::pread(descriptor_.get(), &size, sizeof size, offset) != sizeof size) return {};
  if (size > slot_bytes - signatures_bytes - sizeof size) return {};
  std::string frame(size, '\0');
  const auto read = ::pread(descriptor_.get(), frame.data(), frame.size(),
                            offset + static_cast<off_t>(sizeof size));
  return read == static_cast<ssize_t>(frame.size()) ? frame : std::string();
}

void Turn::Impl::fail(const Error& error) noexcept {
  if (!held || !descriptor_.is_own()) return;
  const Failure told{began_ns_,
                     {error.code, error.message.substr(0, longest_log / 4),
                      error.log.substr(0, longest_log), error.vendor_code}};
  std::string frame =
      storage::FrameEncoder().encode(storage::write_record(told, failure_fields), owner_of(what_));
  const auto size = static_cast<std::uint32_t>(frame.size());
  frame.insert(0, reinterpret_cast<const char*>(&size), sizeof size);
  // Best effort: a process that cannot read it compiles for itself.
  const system::FileSizeSignalHeld held;
  [[maybe_unused]] const auto written =
      ::pwrite(descriptor_.get(), frame.data(), frame.size(),
               slot_of(what_) + static_cast<off_t>(signatures_bytes));
}

Turn::Turn(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Turn::Turn(Turn&&) noexcept = default;
Turn::~Turn() = default;

bool Turn::waited() const noexcept { return impl_->waited; }

const std::optional<Error>& Turn::shared_failure() const noexcept { return impl_->failure; }

bool Turn::exclusive() const noexcept { return impl_->held.has_value(); }

void Turn::fail(const Error& error) noexcept { impl_->fail(error); }

Turn Cache::take_turn(const Digest& what, std::chrono::milliseconds patience,
                      std::stop_token stop) {  // NOLINT(performance-unnecessary-value-param)
  const bool alone = impl_->read_only() || !impl_->ensure_open();
  return Turn(alone ? std::make_unique<Turn::Impl>()
                    : Turn::Impl::take(impl_->place.path / storage::turns_file_name, what, patience,
                                       stop, {.cache = impl_->options.trust}));
}

}  // namespace kiln
