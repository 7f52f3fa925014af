#pragma once

// A real Redis server for one test, on a socket and on a loopback port.
//
//     RedisServer server;
//     const auto backend = open_redis(parse_remote(server.url()).value()).value();
//     server.kill();
//     server.start();

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/scratch.h"
#include "system/descriptor.h"

namespace kiln::test {

/// A socket that is bound to a free loopback port.
class LoopbackPort {
 public:
  LoopbackPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_.get(), any, size) != 0 || ::getsockname(socket_.get(), any, &size) != 0)
      throw std::runtime_error("no free port");
    number_ = ntohs(address.sin_port);
  }

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  system::Descriptor socket_;
  int number_ = 0;
};

/// Keeps nothing on disk: after a restart it is empty. It ends with this, and with the test's process.
class RedisServer {
 public:
  [[nodiscard]] static bool is_installed() {
    return std::system("command -v redis-server >/dev/null 2>&1") == 0;
  }

  /// With further settings, as a command line gives them: {"--requirepass", "secret"}.
  explicit RedisServer(std::vector<std::string> settings = {}) : settings_(std::move(settings)) {
    // Somebody else may take the port between the moment it was found free and the server's start.
    for (int tries = 0; tries < 5; ++tries) {
      port_ = LoopbackPort().number();
      if (try_start()) return;
    }
    throw std::runtime_error("redis-server does not start: " + log());
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer() { kill(); }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  /// After kill(), where it was before.
  void start() {
    if (!try_start()) throw std::runtime_error("redis-server does not start again: " + log());
  }

  /// `user` is empty or ends in '@'.
  [[nodiscard]] std::string url(const std::string& user = {}) const {
    return "redis://" + user + "127.0.0.1:" + std::to_string(port_);
  }
  [[nodiscard]] std::string socket_url(const std::string& user = {}) const {
    return "redis+unix://" + user + socket().string();
  }

 private:
  static constexpr std::chrono::seconds longest_start{20};

  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "redis.sock"; }
  [[nodiscard]] std::string log() const { return read_file(folder_ / "log"); }

  bool try_start() {
    std::filesystem::remove(socket());
    spawn();
    const auto end = std::chrono::steady_clock::now() + longest_start;
    while (std::chrono::steady_clock::now() < end) {
      if (answers()) return true;
      if (::waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = 0;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill();
    return false;
  }

  void spawn() {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--unixsocket",
                                   socket(),
                                   "--dir",
                                   folder_.path(),
                                   "--logfile",
                                   folder_ / "log",
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "no"};
    words.insert(words.end(), settings_.begin(), settings_.end());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process for redis-server");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }

  /// The socket comes last, when the port is open.
  [[nodiscard]] bool answers() const {
    const system::Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto path = socket().string();
    std::memcpy(address.sun_path, path.data(), path.size());
    return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
           0;
  }

  const ScratchDirectory folder_;
  const std::vector<std::string> settings_;
  int port_ = 0;
  pid_t process_ = 0;
};

}  // namespace kiln::test
