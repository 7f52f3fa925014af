#include "remote/message_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>

#include "base/wire_record.h"

namespace kiln::remote {

namespace {

// A message of a lying length takes no more memory than what came of it.
constexpr std::size_t step = std::size_t{1} << 20;

bool may_try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

MessageSocket::State MessageSocket::wait(short events,
                                         std::optional<Clock::time_point> deadline) const {
  for (;;) {
    int left = -1;
    if (deadline) {
      const auto time = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      if (time.count() <= 0) return State::timed_out;
      left =
          static_cast<int>(std::min<std::int64_t>(time.count(), std::numeric_limits<int>::max()));
    }
    pollfd event{socket_.get(), events, 0};
    const int ready = ::poll(&event, 1, left);
    if (ready > 0) return State::ok;
    if (ready < 0 && errno != EINTR) return State::ended;
  }
}

MessageSocket::State MessageSocket::send(std::string_view message, Clock::time_point deadline) {
  auto size = wire::encode(std::uint64_t{message.size()});
  for (std::string_view part : {std::string_view(size), message}) {
    while (!part.empty()) {
      const auto sent =
          ::send(socket_.get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        part.remove_prefix(static_cast<std::size_t>(sent));
      } else if (!may_try_again()) {
        return State::ended;
      } else if (const auto ready = wait(POLLOUT, deadline); ready != State::ok) {
        return ready;
      }
    }
  }
  return State::ok;
}

MessageSocket::State MessageSocket::receive_bytes(char* to, std::size_t size,
                                                  std::optional<Clock::time_point> deadline) {
  while (size > 0) {
    const auto count = ::recv(socket_.get(), to, size, MSG_DONTWAIT);
    if (count > 0) {
      to += count;
      size -= static_cast<std::size_t>(count);
    } else if (count == 0 || !may_try_again()) {
      return State::ended;
    } else if (const auto ready = wait(POLLIN, deadline); ready != State::ok) {
      return ready;
    }
  }
  return State::ok;
}

MessageSocket::State MessageSocket::receive(std::string& message,
                                            std::optional<Clock::time_point> deadline) {
  std::array<char, sizeof(std::uint64_t)> header;
  if (const auto state = receive_bytes(header.data(), header.size(), deadline); state != State::ok)
    return state;
  const auto size = wire::decode<std::uint64_t>({header.data(), header.size()});
  if (!size || *size > most_) return State::ended;
  message.clear();
  while (message.size() < *size) {
    const auto before = message.size();
    message.resize(before + std::min<std::size_t>(step, *size - before));
    const auto state = receive_bytes(message.data() + before, message.size() - before, deadline);
    if (state != State::ok) return state;
  }
  return State::ok;
}

}  // namespace kiln::remote
