#pragma once

// A real nginx on a loopback port, for tests.
//
//     test::HttpServer server;
//     if (!server.is_installed()) GTEST_SKIP() << "there is no nginx on this machine";
//     server.start();
//     auto backend = remote::open_http(server.address("free/")).value();

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "remote/remote_address.h"
#include "support/scratch.h"
#include "system/descriptor.h"

namespace kiln::test {

/// A socket that listens on a port of the loopback's; any free one for 0.
class ListeningPort {
 public:
  explicit ListeningPort(std::uint16_t number = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    auto where = at(number);
    socklen_t size = sizeof where;
    auto* const general = reinterpret_cast<sockaddr*>(&where);
    if (::bind(socket_.get(), general, size) != 0 || ::listen(socket_.get(), 8) != 0 ||
        ::getsockname(socket_.get(), general, &size) != 0)
      throw std::runtime_error("no port on the loopback");
    number_ = ntohs(where.sin_port);
  }

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] std::uint16_t number() const { return number_; }

  [[nodiscard]] static bool answers(std::uint16_t number) {
    const system::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto where = at(number);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  }

 private:
  static sockaddr_in at(std::uint16_t number) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(number);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return where;
  }

  system::Descriptor socket_;
  std::uint16_t number_ = 0;
};

/// Its folder goes with it. Below it are `free/`, where anybody may put things; `closed/`, where "user" with the password "pass
/// word" may; `flat/`, where anybody may who makes folders first; `still/`, where nobody may; `away/`, which is somewhere else.
class HttpServer {
 public:
  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { stop(); }

  [[nodiscard]] static bool is_installed() { return !program().empty(); }

  /// Again on the same port. Throws where it does not answer.
  void start() {
    for (int tries = 0; port_ == 0 && tries < 5; ++tries) {
      write_configuration();
      // Somebody else may have got the port meanwhile.
      if (!starts()) port_ = 0;
    }
    if (process_ <= 0 && !starts())
      throw std::runtime_error("nginx does not start: " + read_file(folder_ / "log"));
  }

  /// At once, whatever it does.
  void stop() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& path, const std::string& user = {}) const {
    return fmt::format("http://{}127.0.0.1:{}/{}", user, port_, path);
  }
  [[nodiscard]] RemoteAddress address(const std::string& path, const std::string& user = {}) const {
    RemoteAddress address;
    address.kind = RemoteAddress::Kind::http;
    address.url = url(path, user);
    return address;
  }
  /// Of what lies there.
  [[nodiscard]] std::filesystem::path file(const std::string& path) const {
    return folder_ / "files" / path;
  }

 private:
  static std::filesystem::path program() {
    for (const auto* file : {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"})
      if (::access(file, X_OK) == 0) return file;
    return {};
  }

  bool starts() {
    process_ = ::fork();
    if (process_ == 0) run();
    for (int tries = 0; tries < 500; ++tries) {
      if (ListeningPort::answers(port_)) return true;
      if (::waitpid(process_, nullptr, WNOHANG) != 0) {
        process_ = 0;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stop();
    return false;
  }

  void write_configuration() {
    port_ = ListeningPort().number();
    for (const auto* place : {"free", "closed", "flat", "still"})
      std::filesystem::create_directories(file(place));
    write_file(folder_ / "users", "user:{PLAIN}pass word\n");
    // One process, so that its end is the end of all. It may write where root alone may.
    write_file(folder_ / "nginx.conf", fmt::format(R"(
daemon off;
master_process off;
pid {0}/pid;
error_log {0}/log info;
events {{}}
http {{
  access_log off;
  client_body_temp_path {0}/body;
  proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi;
  scgi_temp_path {0}/scgi;
  client_max_body_size 8m;
  server {{
    listen 127.0.0.1:{1};
    root {0}/files;
    location /free/ {{
      dav_methods PUT DELETE MKCOL;
      create_full_put_path on;
    }}
    location /closed/ {{
      auth_basic kiln;
      auth_basic_user_file {0}/users;
      dav_methods PUT DELETE MKCOL;
      create_full_put_path on;
    }}
    location /flat/ {{
      dav_methods PUT DELETE MKCOL;
    }}
    location /still/ {{}}
    location /away/ {{ return 302 http://127.0.0.1:{1}/free/; }}
  }}
}}
)",
                                                   folder_.path().string(), port_));
  }

  [[noreturn]] void run() const {
    const auto nginx = program();
    const auto conf = folder_ / "nginx.conf";
    const auto log = folder_ / "log";
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execl(nginx.c_str(), nginx.c_str(), "-c", conf.c_str(), "-p", folder_.path().c_str(), "-e",
            log.c_str(), nullptr);
    ::_exit(127);
  }

  ScratchDirectory folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
};

}  // namespace kiln::test
