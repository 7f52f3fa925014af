#include "tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "system/descriptor.h"

namespace kiln::test {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using system::Descriptor;

constexpr auto tick = 2ms;
constexpr std::size_t most_at_once = std::size_t{64} << 10;

sockaddr_in on_loopback(int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return where;
}

Descriptor connect_to(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto where = on_loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    socket.reset();
  return socket;
}

/// Empty at the end, and where there is nothing yet.
std::string take_from(const Descriptor& socket, bool& ended) {
  std::string bytes(most_at_once, '\0');
  const auto count = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  ended = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

struct Connection {
  Descriptor client;
  Descriptor server;
  std::list<std::pair<Clock::time_point, std::string>> answers = {};  ///< Each with when it is due.
  std::uint64_t answered = 0;                                         ///< Bytes.
  Clock::time_point last_byte = Clock::now();
  bool over = false;
};

}  // namespace

class TcpProxy::Impl {
 public:
  explicit Impl(int server_port) : server_port_(server_port) {
    auto where = on_loopback(0);
    socklen_t size = sizeof where;
    auto* const general = reinterpret_cast<sockaddr*>(&where);
    if (::bind(listening_.get(), general, size) != 0 || ::listen(listening_.get(), 64) != 0 ||
        ::getsockname(listening_.get(), general, &size) != 0)
      throw std::runtime_error("no port on the loopback");
    port_ = ntohs(where.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  [[nodiscard]] int port() const { return port_; }
  void set(const Fault& fault) {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
  }
  [[nodiscard]] std::uint64_t connections() const { return connections_; }
  [[nodiscard]] std::uint64_t questions() const { return questions_; }

 private:
  void serve(const std::stop_token& stop) {
    std::list<Connection> all;
    while (!stop.stop_requested()) {
      std::vector<pollfd> events{{listening_.get(), POLLIN, 0}};
      for (const auto& each : all) {
        events.push_back({each.client.get(), POLLIN, 0});
        if (each.server) events.push_back({each.server.get(), POLLIN, 0});
      }
      ::poll(events.data(), events.size(), static_cast<int>(tick.count()));
      if ((events.front().revents & POLLIN) != 0) accept(all);
      const auto fault = this->fault();
      for (auto& each : all) carry(each, fault);
      all.remove_if([](const Connection& each) { return each.over; });
    }
  }

  Fault fault() {
    const std::lock_guard lock(mutex_);
    return fault_;
  }

  void accept(std::list<Connection>& all) {
    Descriptor client(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    ++connections_;
    auto server = connect_to(server_port_);
    if (server) all.push_back({std::move(client), std::move(server)});
  }

  void carry(Connection& each, const Fault& fault) {
    bool client_ended = false;
    const auto question = take_from(each.client, client_ended);
    if (!question.empty()) ++questions_;
    if (!question.empty() && fault.kind != Kind::none) return mistreat(each, fault.kind);
    for (std::string_view rest = question; !rest.empty();) {
      const auto sent = ::send(each.server.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    bool server_ended = false;
    auto answer = each.server ? take_from(each.server, server_ended) : std::string();
    if (!answer.empty() && fault.kind == Kind::none)
      each.answers.emplace_back(Clock::now() + fault.delay, std::move(answer));
    give(each, fault);
    if (server_ended) each.server.reset();
    if (client_ended || (!each.server && each.answers.empty())) each.over = true;
  }

  static void mistreat(Connection& each, Kind kind) {
    if (kind == Kind::reset) {
      const linger now{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(each.client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
      each.over = true;
    } else if (kind == Kind::half_close) {
      ::shutdown(each.client.get(), SHUT_WR);
    } else if (kind == Kind::garbage) {
      std::string bytes;
      for (int at = 0; at < 300; ++at) bytes.push_back(static_cast<char>(at * 7 + 3));
      ::send(each.client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }

  static void give(Connection& each, const Fault& fault) {
    while (!each.answers.empty() && !each.over) {
      auto& [due, bytes] = each.answers.front();
      const auto now = Clock::now();
      if (now < due) return;
      auto most = bytes.size();
      if (fault.bytes_per_second != 0) {
        const auto seconds = std::chrono::duration<double>(now - each.last_byte).count();
        most = std::min(
            most, static_cast<std::size_t>(seconds * static_cast<double>(fault.bytes_per_second)));
      }
      if (fault.cut_after)
        most = std::min(most, *fault.cut_after - std::min(*fault.cut_after, each.answered));
      if (fault.corrupt_at && *fault.corrupt_at >= each.answered &&
          *fault.corrupt_at < each.answered + most)
        bytes[*fault.corrupt_at - each.answered] ^= 1;
      const auto sent =
          most == 0 ? 0
                    : ::send(each.client.get(), bytes.data(), most, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        // What was not taken is flipped again before it is sent again.
        if (fault.corrupt_at && *fault.corrupt_at >= each.answered + sent &&
            *fault.corrupt_at < each.answered + most)
          bytes[*fault.corrupt_at - each.answered] ^= 1;
        each.answered += static_cast<std::uint64_t>(sent);
        each.last_byte = now;
        bytes.erase(0, static_cast<std::size_t>(sent));
      }
      if (fault.cut_after && each.answered >= *fault.cut_after) each.over = true;
      if (!bytes.empty()) return;
      each.answers.pop_front();
    }
  }

  const int server_port_;
  int port_ = 0;
  const Descriptor listening_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  std::mutex mutex_;
  Fault fault_;
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> questions_{0};
  std::jthread thread_;
};

TcpProxy::TcpProxy(int server_port) : impl_(std::make_unique<Impl>(server_port)) {}
TcpProxy::~TcpProxy() = default;

int TcpProxy::port() const { return impl_->port(); }
void TcpProxy::set(const Fault& fault) { impl_->set(fault); }
std::uint64_t TcpProxy::connections() const { return impl_->connections(); }
std::uint64_t TcpProxy::questions() const { return impl_->questions(); }

}  // namespace kiln::test
