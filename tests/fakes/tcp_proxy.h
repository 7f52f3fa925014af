#pragma once

// Stands between a client and a server on the loopback, and treats what they say as a bad network would.
//
//     TcpProxy proxy(server_port);
//     proxy.set({.kind = TcpProxy::Kind::black_hole});
//     ask("redis://127.0.0.1:" + std::to_string(proxy.port()));

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace kiln::test {

class TcpProxy {
 public:
  enum class Kind {
    none,
    black_hole,  ///< Connects, and nothing is ever answered.
    reset,       ///< The connection is reset at the first question.
    half_close,  ///< It says at the first question that nothing more comes, and listens on.
    garbage,     ///< Answers with other bytes.
  };
  struct Fault {
    Kind kind = Kind::none;
    std::chrono::milliseconds delay{};            ///< Of each answer.
    std::uint64_t bytes_per_second = 0;           ///< Of the answers; 0 for as they come.
    std::optional<std::uint64_t> cut_after = {};  ///< So many bytes of answers end a connection.
    std::optional<std::uint64_t> corrupt_at =
        {};  ///< This byte of a connection's answers has a bit flipped.
  };

  /// Listens on a free port. The server need not be there yet.
  explicit TcpProxy(int server_port);
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  ~TcpProxy();

  [[nodiscard]] int port() const;

  /// From now on, also for the connections that there are.
  void set(const Fault& fault);

  /// So many connections were made, and so often something was read from a client.
  [[nodiscard]] std::uint64_t connections() const;
  [[nodiscard]] std::uint64_t questions() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln::test
