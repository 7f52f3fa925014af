#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "system/descriptor.h"

namespace kiln::remote {

/// A socket that carries messages: of each the length, in eight bytes, and the bytes. Used by one thread at a time. After anything
/// but a success it is of no use: the next message would answer the wrong question.
class MessageSocket {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most` is the longest message that is taken from the other end. Bytes.
  MessageSocket(system::Descriptor socket, std::uint64_t most) noexcept
      : socket_(std::move(socket)), most_(most) {}

  enum class State { ok, ended, timed_out };

  [[nodiscard]] State send(std::string_view message, Clock::time_point deadline);
  /// Waits for as long as it takes, where there is no deadline.
  [[nodiscard]] State receive(std::string& message, std::optional<Clock::time_point> deadline);

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

 private:
  [[nodiscard]] State wait(short events, std::optional<Clock::time_point> deadline) const;
  [[nodiscard]] State receive_bytes(char* to, std::size_t size,
                                    std::optional<Clock::time_point> deadline);

  system::Descriptor socket_;
  std::uint64_t most_;
};

}  // namespace kiln::remote
