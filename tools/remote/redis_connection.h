#pragma once

// One connection to a Redis server. A store and leases share it.
//
//     const auto connection = RedisConnection::make(address).value();
//     const auto reply = connection->run({"GET", "key"}, connection->begin_call());
//     if (reply && (*reply)->type == REDIS_REPLY_STRING) use({(*reply)->str, (*reply)->len});

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"
#include "remote/remote_address.h"
#include "system/descriptor.h"

namespace kiln::remote {

struct FreeRedisReply {
  void operator()(redisReply* reply) const noexcept { ::freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

/// The words of one command.
using RedisCommand = std::vector<std::string_view>;

/// Where a server is, and as whom kiln comes to it.
struct RedisEndpoint {
  std::string host = {};
  std::string port = "6379";
  std::string socket = {};  ///< Its path. Empty for a host.
  std::string user = {};
  std::string password = {};
  std::string database = "0";
};

/// Errors: invalid_argument.
[[nodiscard]] Result<RedisEndpoint> redis_endpoint(const RemoteAddress& address);

/// Bounds one call, which may be several round trips.
struct RedisBounds {
  std::chrono::steady_clock::time_point deadline;
  std::uint64_t most_bytes = 0;  ///< Of the answers to one round trip.
};

/// Connects when it is first used. It ends a call at its deadline however slowly a server sends, and takes no more bytes than the
/// bounds allow. The search for a host's address is the system's, which bounds it by its own settings.
///
/// After any failure the connection is dropped, and the next call connects anew. So does a call that finds the connection closed
/// before it sends anything. All errors are io_failed, and name the server. Serves one thread at a time. Raises no SIGPIPE.
///
/// hiredis reads the answers. The socket is not hiredis's: that one would wait anew for each piece of an answer, raise SIGPIPE,
/// and stay open in programs that are executed.
class RedisConnection {
 public:
  static constexpr std::uint64_t most_bytes_of_small_answers = std::uint64_t{64} << 10;

  /// Errors: as redis_endpoint().
  [[nodiscard]] static Result<std::shared_ptr<RedisConnection>> make(const RemoteAddress& address);

  RedisConnection(RemoteAddress address, RedisEndpoint endpoint) noexcept;
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  /// The bounds of a call that begins now.
  [[nodiscard]] RedisBounds begin_call(
      std::uint64_t most_bytes = most_bytes_of_small_answers) const noexcept;

  /// Gives one reply for each command, all in one round trip. A reply that is or holds an error fails the call.
  [[nodiscard]] Result<std::vector<RedisReply>> run_all(const std::vector<RedisCommand>& commands,
                                                        const RedisBounds& bounds);
  [[nodiscard]] Result<RedisReply> run(const RedisCommand& command, const RedisBounds& bounds);

  /// The error for an answer that the command cannot have. Drops the connection.
  [[nodiscard]] tl::unexpected<Error> unexpected_answer();
  /// An error that says what this server did, and what to do.
  [[nodiscard]] tl::unexpected<Error> failure(std::string_view what, std::string_view remedy) const;

  [[nodiscard]] const RemoteAddress& address() const noexcept { return address_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct FreeReader {
    void operator()(redisReader* reader) const noexcept { ::redisReaderFree(reader); }
  };

  /// The arrays that one round trip may still bring. A server announces their sizes before it sends them.
  struct ArrayBudget {
    void* (*make_array)(const redisReadTask*, int) = nullptr;  ///< hiredis's own.
    std::size_t elements_left = 0;
  };

  static void* make_array_within_budget(const redisReadTask* task, int elements) noexcept;

  [[nodiscard]] Result<std::vector<RedisReply>> converse(const std::vector<RedisCommand>& commands,
                                                         const RedisBounds& bounds);
  [[nodiscard]] Outcome connect(TimePoint deadline);
  [[nodiscard]] Result<system::Descriptor> open_socket(TimePoint deadline) const;
  [[nodiscard]] Outcome greet(TimePoint deadline);
  [[nodiscard]] bool is_idle() const noexcept;
  void make_reader();
  void drop() noexcept;

  [[nodiscard]] Outcome wait(bool to_send, TimePoint deadline) const;
  void send_some(std::string_view& unsent) const noexcept;
  [[nodiscard]] Outcome receive_some(std::uint64_t& bytes_left);
  [[nodiscard]] Outcome take_replies(std::vector<RedisReply>& replies);

  [[nodiscard]] tl::unexpected<Error> timed_out() const;
  [[nodiscard]] tl::unexpected<Error> unreachable(std::string_view reason) const;

  const RemoteAddress address_;
  const RedisEndpoint endpoint_;
  system::Descriptor socket_;
  ArrayBudget budget_;
  redisReplyObjectFunctions functions_{};
  std::unique_ptr<redisReader, FreeReader> reader_;
};

}  // namespace kiln::remote
