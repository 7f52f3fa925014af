#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wire_record.h"
#include "kiln/error.h"
#include "remote/message_socket.h"
#include "remote/remote_protocol.h"
#include "system/descriptor.h"

namespace kiln::remote {

/// Connections that a helper has not taken yet.
inline constexpr int most_waiting = 1024;

/// A connection to kiln-remote. Used by one thread at a time.
class HelperConnection {
 public:
  explicit HelperConnection(MessageSocket socket) noexcept : socket_(std::move(socket)) {}

  /// Errors: those of the call; timed_out, io_failed, after which the connection is of no use: works() is false.
  template <class Question>
  [[nodiscard]] Result<typename Question::Reply> ask(const Question& question,
                                                     std::chrono::microseconds patience) {
    auto answer = exchange(wire::encode(Call(question)), patience);
    if (!answer) return tl::unexpected(std::move(answer.error()));
    auto reply = wire::decode<Result<typename Question::Reply>>(*answer);
    if (reply) return std::move(*reply);
    works_ = false;
    return fail(ErrorCode::io_failed, "kiln-remote: it answers with something else");
  }

  [[nodiscard]] bool works() const noexcept { return works_; }

  /// Whether the helper is there and silent, as it has to be between two calls.
  [[nodiscard]] bool is_up() const;

 private:
  [[nodiscard]] Result<std::string> exchange(std::string_view call,
                                             std::chrono::microseconds patience);

  MessageSocket socket_;
  bool works_ = true;
};

/// Connections to the kiln-remote of one store, which is started where none runs: one for all of a user's processes. Safe to use
/// from any thread, and in a child that was forked.
class HelperConnections {
 public:
  /// `executable` is empty where it was not found, and `missing` says so.
  HelperConnections(std::filesystem::path executable, std::string missing,
                    Introduction introduction);

  /// One that answers, for some calls in a row. Errors: io_failed; they say what to do.
  [[nodiscard]] Result<HelperConnection> take();
  /// Gives it to who takes the next, where it works.
  void give_back(HelperConnection connection);

  /// Asks by any of them. Errors: as of both.
  template <class Question>
  [[nodiscard]] Result<typename Question::Reply> ask(const Question& question,
                                                     std::chrono::microseconds patience) {
    auto connection = take();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto answer = connection->ask(question, patience);
    give_back(std::move(*connection));
    return answer;
  }

 private:
  /// Errors: timed_out where it hangs; io_failed.
  [[nodiscard]] Result<HelperConnection> connect() const;
  /// Nothing where the helper of that name serves the store with other passwords. Errors: as connect().
  [[nodiscard]] Result<std::optional<HelperConnection>> connect_to(const std::string& name) const;
  [[nodiscard]] Result<std::optional<HelperConnection>> welcomed(system::Descriptor socket) const;
  /// False where somebody else is at it.
  [[nodiscard]] Result<bool> start(const std::string& name) const;
  void drop_those_of_the_parent();
  void note(const Result<HelperConnection>& outcome);

  const std::filesystem::path executable_;
  const std::string missing_;
  const Introduction introduction_;
  const std::string
      name_;  ///< With which those of the helpers' sockets begin; it tells of no password.
  std::mutex mutex_;
  std::vector<HelperConnection> idle_;
  pid_t owner_;
  std::optional<Error> failure_;  ///< The last, in connecting, unless it went well since.
  std::chrono::seconds rest_{};
  std::chrono::steady_clock::time_point left_alone_until_{};
};

}  // namespace kiln::remote
