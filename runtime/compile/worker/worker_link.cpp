#include "compile/worker/worker_link.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace kiln {

namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

// A stop that has no descriptor is noticed within this time.
constexpr auto longest_sleep = 100ms;

bool may_go_on() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int milliseconds_until(Clock::time_point deadline, bool stop_wakes) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  const auto most = stop_wakes ? std::chrono::milliseconds(1h) : longest_sleep;
  return static_cast<int>(std::clamp(left, 0ms, most).count());
}

}  // namespace

StopSignal::StopSignal(std::stop_token stop) : stop_(std::move(stop)) {
  if (!stop_.stop_possible()) return;
  event_ = system::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event_) callback_.emplace(stop_, Wake{event_.get()});
}

void StopSignal::Wake::operator()() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

WorkerLink::WorkerLink(std::unique_ptr<WorkerProcess> process) noexcept
    : process_(std::move(process)) {}

Reply WorkerLink::ask(std::string_view bytes, const StopSignal& stop, Clock::time_point deadline,
                      Message& answer) {
  bool listening = true;
  for (;;) {
    if (auto message = received_.take()) {
      answer = std::move(*message);
      return Reply::answered;
    }
    if (received_.broken()) return Reply::ended;
    if (stop.requested()) return Reply::stopped;
    if (Clock::now() >= deadline) return Reply::timed_out;
    const short wanted = bytes.empty() ? POLLIN : POLLIN | POLLOUT;
    std::array<pollfd, 3> events{{{process_->socket(), wanted, 0},
                                  {listening ? process_->complaints() : -1, POLLIN, 0},
                                  {stop.descriptor(), POLLIN, 0}}};
    if (::poll(events.data(), events.size(),
               milliseconds_until(deadline, stop.descriptor() >= 0)) <= 0) {
      continue;
    }
    if ((events[1].revents & POLLIN) != 0) process_->listen();
    // Nobody holds the other end any more, and poll() would find that again at once, for ever.
    if (events[1].revents != 0 && (events[1].revents & POLLIN) == 0) listening = false;
    if ((events[0].revents & POLLOUT) != 0 && !send_some(bytes)) return Reply::ended;
    if ((events[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive_some()) {
      return Reply::ended;
    }
  }
}

bool WorkerLink::is_up() const {
  pollfd event{process_->socket(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 0;
}

bool WorkerLink::send_some(std::string_view& bytes) {
  const auto sent = ::send(process_->socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  return sent >= 0 || may_go_on() || errno == EPIPE;
}

bool WorkerLink::receive_some() {
  std::array<char, 65'536> bytes;
  const auto size = ::recv(process_->socket(), bytes.data(), bytes.size(), 0);
  if (size > 0) received_.add({bytes.data(), static_cast<std::size_t>(size)});
  return size > 0 || (size < 0 && may_go_on());
}

}  // namespace kiln
