#include "remote/helper_connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "base/build_identity.h"
#include "base/spawn.h"
#include "kiln/digest.h"
#include "system/descriptor.h"
#include "system/standard_streams.h"

extern char** environ;

namespace kiln::remote {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using State = MessageSocket::State;

constexpr auto patience_with_a_start = 2s;
constexpr auto rest_after_failure = 5s;
constexpr std::size_t most_idle = 16;
constexpr int most_waiting = 128;  ///< Connections that a helper has not taken yet.

// In the abstract namespace: it is there as long as somebody listens, and nothing is left behind.
struct Address {
  explicit Address(std::string_view name) {
    text.sun_family = AF_UNIX;
    const auto length = std::min(name.size(), sizeof text.sun_path - 1);
    std::copy_n(name.data(), length, text.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&text);
  }

  sockaddr_un text{};
  socklen_t size;
};

system::Descriptor make_socket() {
  return system::Descriptor(
      system::above_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

tl::unexpected<Error> failed(const std::string& what) {
  return fail(ErrorCode::io_failed, "kiln-remote: " + what);
}

std::string in_words(int error) { return std::generic_category().message(error); }

// Anybody may listen under any name.
Result<void> check_owner(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return failed(in_words(errno));
  if (peer.uid == ::geteuid()) return {};
  return failed(
      fmt::format("user {} listens where this user's helper should; it is not asked", peer.uid));
}

std::string socket_name(const Introduction& introduction) {
  return fmt::format("kiln-remote-{}-{}", ::geteuid(),
                     digest_of(wire::encode(std::string(build_identity()), introduction)).hex());
}

// It forks and ends at once, so that nobody has to wait for the one that stays.
void reap(pid_t process) {
  const auto end = Clock::now() + patience_with_a_start;
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0 && Clock::now() < end) ::poll(nullptr, 0, 1);
}

}  // namespace

Result<std::string> HelperConnection::exchange(std::string_view call,
                                               std::chrono::microseconds patience) {
  const auto deadline = Clock::now() + patience;
  std::string answer;
  auto state = socket_.send(call, deadline);
  if (state == State::ok) state = socket_.receive(answer, deadline);
  if (state == State::ok) return answer;
  works_ = false;
  if (state == State::timed_out)
    return fail(ErrorCode::timed_out, "kiln-remote: it did not answer in time");
  return failed("it has ended");
}

bool HelperConnection::is_up() const {
  pollfd event{socket_.descriptor(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 0;
}

HelperConnections::HelperConnections(std::filesystem::path executable, std::string missing,
                                     Introduction introduction)
    : executable_(std::move(executable)),
      missing_(std::move(missing)),
      introduction_(std::move(introduction)),
      name_(socket_name(introduction_)),
      owner_(::getpid()) {}

Result<HelperConnection> HelperConnections::take() {
  {
    const std::lock_guard lock(mutex_);
    drop_those_of_the_parent();
    while (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection.is_up()) return connection;
    }
  }
  if (auto failure = failed_lately()) return tl::unexpected(std::move(*failure));
  auto connection = connect();
  // It may have been about to end, because nobody was connected to it.
  if (!connection) connection = connect();
  if (!connection) note(connection.error());
  return connection;
}

// To start one that ends at once, for every call, would cost more than it is to save.
std::optional<Error> HelperConnections::failed_lately() {
  const std::lock_guard lock(mutex_);
  return Clock::now() < left_alone_until_ ? failure_ : std::nullopt;
}

void HelperConnections::note(const Error& failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  left_alone_until_ = Clock::now() + rest_after_failure;
}

void HelperConnections::give_back(HelperConnection connection) {
  const std::lock_guard lock(mutex_);
  if (owner_ == ::getpid() && idle_.size() < most_idle) idle_.push_back(std::move(connection));
}

// Two processes must not talk on one connection.
void HelperConnections::drop_those_of_the_parent() {
  if (owner_ == ::getpid()) return;
  idle_.clear();
  owner_ = ::getpid();
}

Result<HelperConnection> HelperConnections::connect() {
  const Address address(name_);
  for (int attempt = 0;; ++attempt) {
    auto socket = make_socket();
    if (!socket) return failed(in_words(errno));
    if (::connect(socket.get(), address.get(), address.size) == 0) {
      if (auto own = check_owner(socket.get()); !own) return tl::unexpected(own.error());
      HelperConnection connection{MessageSocket(std::move(socket), most_message_bytes)};
      auto welcome = connection.ask(introduction_, patience_with_a_start);
      if (!welcome) return tl::unexpected(std::move(welcome.error()));
      return connection;
    }
    if (errno != ECONNREFUSED || attempt == 2) return failed(in_words(errno));
    if (auto started = start(); !started) return tl::unexpected(started.error());
  }
}

// Who binds the name starts the helper. Others find the name taken, and wait in its queue.
Result<void> HelperConnections::start() {
  if (executable_.empty()) return failed(missing_);
  const Address address(name_);
  auto socket = make_socket();
  if (!socket) return failed(in_words(errno));
  if (::bind(socket.get(), address.get(), address.size) != 0)
    return errno == EADDRINUSE ? Result<void>() : failed(in_words(errno));
  if (::listen(socket.get(), most_waiting) != 0) return failed(in_words(errno));
  const system::Descriptor nowhere(system::open_file("/dev/null", O_WRONLY));
  const auto process = spawn_helper({executable_, socket.get(), nowhere.get()}, environ);
  if (!process) {
    return failed(
        fmt::format("{} cannot be started: {}", executable_.string(), in_words(process.error())));
  }
  reap(*process);
  return {};
}

}  // namespace kiln::remote
