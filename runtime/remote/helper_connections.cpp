#include "remote/helper_connections.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "base/spawn.h"
#include "kiln/digest.h"
#include "remote/helper_environment.h"
#include "system/descriptor.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"

extern char** environ;

namespace kiln::remote {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using State = MessageSocket::State;

constexpr std::chrono::milliseconds patience_with_a_start = 2s;
/// One that serves already; or another process that is about to start one, which binds the name and listens at once. A stranger may
/// bind it for ever.
constexpr std::chrono::milliseconds patience_with_another = 250ms;
/// So long nobody tries to connect after a failure; twice as long after each further one.
constexpr auto first_rest = 5s;
constexpr auto longest_rest = 300s;
constexpr std::size_t most_idle = 16;
constexpr int most_places = 32;  ///< Of helpers for one store, each with other passwords.

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

tl::unexpected<Error> timed_out() {
  return fail(ErrorCode::timed_out, "kiln-remote: it did not answer in time");
}

tl::unexpected<Error> nobody_listens() {
  return fail(ErrorCode::timed_out,
              "kiln-remote: somebody holds the name of its socket and does not listen there");
}

std::string in_words(int error) { return std::generic_category().message(error); }

// Who listens, as far as the system says.
ucred listener_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) peer.uid = ~uid_t{0};
  return peer;
}

// Anybody may listen under any name.
Outcome check_owner(const ucred& listener) {
  if (listener.uid == ::geteuid()) return {};
  return failed(fmt::format("user {} listens where this user's helper should; it is not asked",
                            listener.uid));
}

// A helper listens anew once it serves, and from then on counts for who listens. Until then that is whoever started it.
bool serves_already(const ucred& listener, const std::filesystem::path& executable) {
  std::error_code unknown;
  return std::filesystem::equivalent(fmt::format("/proc/{}/exe", listener.pid), executable,
                                     unknown);
}

// As system::variable() has it: in a program with other rights than its user's, his variables say nothing.
char* const* environment_of_a_helper() {
  static char* const nothing = nullptr;
  return ::getauxval(AT_SECURE) != 0 ? &nothing : environ;
}

// Everybody on the machine reads it, and could try passwords if it told anything of one.
std::string socket_name(const std::filesystem::path& executable, Introduction introduction) {
  auto& address = introduction.address;
  address.url = address.shown();
  address.endpoint.erase(0, address.endpoint.rfind('@') + 1);
  introduction.environment.clear();
  return fmt::format("kiln-remote-{}-{}", ::geteuid(),
                     digest_of(wire::encode(executable.string(), introduction)).hex());
}

bool ends_within(pid_t process, std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

// It forks and ends at once, so that nobody has to wait for the one that stays. Whatever hangs instead is ended, with all that it
// started: it would stay a child of the host, and keep the name.
bool reap(pid_t process) {
  if (ends_within(process, patience_with_a_start)) return true;
  ::kill(-process, SIGKILL);
  static_cast<void>(ends_within(process, 100ms));
  return false;
}

// To connect waits while the queue of whoever listens is full. One that hangs takes nobody off it.
void set_patience(int socket, std::chrono::milliseconds patience) {
  const timeval limit{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
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
  return state == State::timed_out ? timed_out() : failed("it has ended");
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
      name_(socket_name(executable_, introduction_)),
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
    // To start one that ends at once, for every call, would cost more than it is to save.
    if (failure_ && Clock::now() < left_alone_until_) return tl::unexpected(*failure_);
  }
  auto connection = connect();
  // It may have been about to end, because nobody was connected to it. One that hangs still hangs.
  if (!connection && connection.error().code != ErrorCode::timed_out) connection = connect();
  // That is no answer which comes too late: whoever asked is to hear of it.
  if (!connection) connection.error().code = ErrorCode::io_failed;
  note(connection);
  return connection;
}

void HelperConnections::note(const Result<HelperConnection>& outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome) {
    failure_.reset();
    return;
  }
  const auto now = Clock::now();
  // Of several threads that failed at one time, the first says when it is tried again.
  if (failure_ && now < left_alone_until_) return;
  rest_ = failure_ ? std::min<std::chrono::seconds>(2 * rest_, longest_rest) : first_rest;
  left_alone_until_ = now + rest_;
  failure_ = outcome.error();
}

void HelperConnections::give_back(HelperConnection connection) {
  const std::lock_guard lock(mutex_);
  if (owner_ != ::getpid()) return;
  // If the helper hangs on one, each of the others would cost as much to find that out again. A new one has to be welcomed.
  if (!connection.works()) return idle_.clear();
  if (idle_.size() < most_idle) idle_.push_back(std::move(connection));
}

// Two processes must not talk on one connection.
void HelperConnections::drop_those_of_the_parent() {
  if (owner_ == ::getpid()) return;
  idle_.clear();
  owner_ = ::getpid();
}

// One that serves the store with other passwords turns this one away, to the next place.
Result<HelperConnection> HelperConnections::connect() const {
  for (int place = 0; place < most_places; ++place) {
    auto connection = connect_to(fmt::format("{}-{}", name_, place));
    if (!connection) return tl::unexpected(std::move(connection.error()));
    if (*connection) return std::move(**connection);
  }
  return failed(fmt::format(
      "{} of them serve this store already, each with other passwords; end some", most_places));
}

// Who finds nobody there starts the helper, or waits for who is about to.
Result<std::optional<HelperConnection>> HelperConnections::connect_to(
    const std::string& name) const {
  const Address address(name);
  const auto end = Clock::now() + patience_with_another;
  for (bool has_started = false;;) {
    auto socket = make_socket();
    if (!socket) return failed(in_words(errno));
    set_patience(socket.get(), patience_with_another);
    if (::connect(socket.get(), address.get(), address.size) == 0)
      return welcomed(std::move(socket));
    if (errno == EAGAIN) return timed_out();
    if (errno != ECONNREFUSED) return failed(in_words(errno));
    if (has_started)
      return failed(
          fmt::format("'{}' ends as soon as it is started; is it kiln-remote? "
                      "KILN_REMOTE_HELPER names one",
                      executable_.string()));
    auto started = start(name);
    if (!started) return tl::unexpected(std::move(started.error()));
    has_started = *started;
    if (!has_started && Clock::now() >= end) return nobody_listens();
    // Between two calls of whoever starts it, the name is taken and nobody listens.
    if (!has_started) ::poll(nullptr, 0, 1);
  }
}

Result<std::optional<HelperConnection>> HelperConnections::welcomed(
    system::Descriptor socket) const {
  const auto listener = listener_of(socket.get());
  if (auto own = check_owner(listener); !own) return tl::unexpected(own.error());
  HelperConnection connection{MessageSocket(std::move(socket), most_message_bytes)};
  const auto patience =
      serves_already(listener, executable_) ? patience_with_another : patience_with_a_start;
  auto welcome = connection.ask(introduction_, patience);
  if (!welcome) return tl::unexpected(std::move(welcome.error()));
  if (!*welcome) return std::nullopt;
  return connection;
}

// Who binds the name starts the helper. Others find the name taken, and wait in its queue.
Result<bool> HelperConnections::start(const std::string& name) const {
  if (executable_.empty()) return fail(ErrorCode::io_failed, missing_);
  // It would turn away whoever started it.
  if (environment_for(introduction_.address) != introduction_.environment) {
    return failed(
        "the environment has other keys or proxies than when the store was opened: open it again");
  }
  // A child that had the socket would keep the name after the helper's end.
  const system::NoFork no_fork;
  const Address address(name);
  auto socket = make_socket();
  if (!socket) return failed(in_words(errno));
  if (::bind(socket.get(), address.get(), address.size) != 0)
    return errno == EADDRINUSE ? Result<bool>(false) : failed(in_words(errno));
  if (::listen(socket.get(), most_waiting) != 0) return failed(in_words(errno));
  const system::Descriptor nowhere(system::open_file("/dev/null", O_WRONLY));
  const auto process =
      spawn_helper({executable_, socket.get(), nowhere.get()}, environment_of_a_helper());
  if (!process) {
    return failed(
        fmt::format("{} cannot be started: {}", executable_.string(), in_words(process.error())));
  }
  if (!reap(*process)) return timed_out();
  return true;
}

}  // namespace kiln::remote
