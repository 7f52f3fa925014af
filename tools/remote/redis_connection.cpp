#include "redis_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "server_words.h"
#include "system/standard_streams.h"

namespace kiln::remote {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_elements = 100'000;
constexpr std::size_t most_bytes_kept = std::size_t{1} << 20;
constexpr std::size_t bytes_at_once = std::size_t{64} << 10;

std::optional<int> hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

/// Nothing for a '%' without two digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded.push_back(text[at]);
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const auto high = hex_value(text[at + 1]);
    const auto low = hex_value(text[at + 2]);
    if (!high || !low) return std::nullopt;
    decoded.push_back(static_cast<char>(*high * 16 + *low));
    at += 2;
  }
  return decoded;
}

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// The text before the mark, or all of it without one. `text` keeps the text behind the mark.
std::string_view cut(std::string_view& text, std::string_view mark) noexcept {
  const auto at = text.find(mark);
  const auto before = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + mark.size());
  return before;
}

/// `[user]:password`.
bool parse_user(std::string_view text, RedisEndpoint& endpoint) {
  auto user = percent_decoded(cut(text, ":"));
  auto password = percent_decoded(text);
  if (!user || !password) return false;
  endpoint.user = std::move(*user);
  endpoint.password = std::move(*password);
  return true;
}

/// `host[:port]`, where an IPv6 address stands in brackets.
bool parse_host(std::string_view text, RedisEndpoint& endpoint) {
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    if (text.find(']') == text.npos) return false;
    endpoint.host = cut(text, "]");
    if (!text.empty() && !text.starts_with(':')) return false;
  } else {
    endpoint.host = text.substr(0, text.find(':'));
    text.remove_prefix(endpoint.host.size());
  }
  if (!text.empty()) endpoint.port = text.substr(1);
  return !endpoint.host.empty() && is_number(endpoint.port);
}

bool parse_socket(std::string_view path, RedisEndpoint& endpoint) {
  auto decoded = percent_decoded(path);
  if (!decoded || decoded->size() < 2 || decoded->size() >= sizeof(sockaddr_un::sun_path))
    return false;
  endpoint.socket = std::move(*decoded);
  return true;
}

bool parse(const RemoteAddress& address, RedisEndpoint& endpoint) {
  std::string_view place = address.url;
  static_cast<void>(cut(place, "://"));
  const auto authority = place.substr(0, place.find('/'));
  const auto path = place.substr(authority.size());
  const auto at = authority.rfind('@');
  if (at != authority.npos && !parse_user(authority.substr(0, at), endpoint)) return false;
  if (address.kind == RemoteAddress::Kind::redis_socket) return parse_socket(path, endpoint);
  if (path.size() > 1) endpoint.database = path.substr(1);
  // Without an '@', `at` + 1 is 0.
  return parse_host(authority.substr(at + 1), endpoint) && is_number(endpoint.database);
}

void append(std::string& request, const RedisCommand& command) {
  request += fmt::format("*{}\r\n", command.size());
  for (const auto word : command) {
    request += fmt::format("${}\r\n", word.size());
    request += word;
    request += "\r\n";
  }
}

std::string encoded(const std::vector<RedisCommand>& commands) {
  std::size_t size = 0;
  for (const auto& command : commands)
    for (const auto word : command) size += word.size() + 32;
  std::string request;
  request.reserve(size);
  for (const auto& command : commands) append(request, command);
  return request;
}

/// Rounded up, so that nobody waits for 0 ms before the deadline.
milliseconds time_left(Clock::time_point deadline) noexcept {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

/// Gives 0 or an errno: ETIMEDOUT at the deadline.
int connect_until(int socket, const sockaddr* address, socklen_t size,
                  Clock::time_point deadline) noexcept {
  for (;;) {
    const auto left = time_left(deadline);
    if (left.count() == 0) return ETIMEDOUT;
    const timeval limit{.tv_sec = left.count() / 1000, .tv_usec = left.count() % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket, address, size) == 0 || errno == EISCONN) return 0;
    if (errno == EINTR) continue;
    const bool too_long = errno == EAGAIN || errno == EINPROGRESS || errno == EALREADY;
    return too_long ? ETIMEDOUT : errno;
  }
}

system::Descriptor make_socket(int family) noexcept {
  return system::Descriptor(
      system::above_standard_streams(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

struct FreeAddresses {
  void operator()(addrinfo* first) const noexcept { ::freeaddrinfo(first); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// `error` becomes what the last of the addresses said.
system::Descriptor connect_to_host(const Addresses& addresses, Clock::time_point deadline,
                                   int& error) noexcept {
  int untried = 0;
  for (const auto* each = addresses.get(); each != nullptr; each = each->ai_next) ++untried;
  for (const auto* each = addresses.get(); each != nullptr; each = each->ai_next) {
    auto socket = make_socket(each->ai_family);
    if (!socket) {
      error = errno;
      return {};
    }
    // An address that never answers leaves the others their part of the time.
    const auto part = (deadline - Clock::now()) / untried--;
    error = connect_until(socket.get(), each->ai_addr, each->ai_addrlen, Clock::now() + part);
    if (error != 0) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }
  return {};
}

system::Descriptor connect_to_socket(const std::string& path, Clock::time_point deadline,
                                     int& error) noexcept {
  auto socket = make_socket(AF_UNIX);
  if (!socket) {
    error = errno;
    return {};
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  error = connect_until(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address,
                        deadline);
  return error == 0 ? std::move(socket) : system::Descriptor();
}

/// The reply itself, or the first in it that is an error.
const redisReply* error_in(const redisReply& reply) noexcept {
  if (reply.type == REDIS_REPLY_ERROR) return &reply;
  if (reply.type != REDIS_REPLY_ARRAY) return nullptr;
  for (std::size_t at = 0; at < reply.elements; ++at) {
    if (const auto* error = error_in(*reply.element[at])) return error;
  }
  return nullptr;
}

struct Remedy {
  std::string_view word;  ///< With which the server's error begins.
  std::string_view remedy;
};

constexpr std::array<Remedy, 14> remedies{{
    {"NOAUTH", "give its address a password, as in redis://:PASSWORD@host"},
    {"WRONGPASS", "correct the user and the password in its address"},
    {"NOPERM", "let the server's ACL allow this user all commands on keys kiln:*"},
    {"READONLY", "name the primary, or add '?read-only' to the address of a replica"},
    {"OOM", "raise the server's maxmemory, or set its maxmemory-policy to allkeys-lru"},
    {"LOADING", "try again when the server has loaded its data"},
    {"BUSY", "try again when the server has ended the script that it runs"},
    {"MISCONF", "mend what keeps the server from saving its data, or turn saving off"},
    {"NOREPLICAS", "mend the server's replicas, or set min-replicas-to-write to 0"},
    {"MASTERDOWN", "mend the connection to the server's primary, or name the primary"},
    {"MOVED", "name a server that is no cluster: kiln does not speak to clusters"},
    {"CROSSSLOT", "name a server that is no cluster: kiln does not speak to clusters"},
    {"CLUSTERDOWN", "name a server that is no cluster: kiln does not speak to clusters"},
    {"WRONGTYPE", "delete the keys kiln:* there that something other than kiln has made"},
}};

std::string_view remedy_of(std::string_view words) noexcept {
  const auto word = words.substr(0, words.find(' '));
  const auto* known = std::ranges::find(remedies, word, &Remedy::word);
  if (known != remedies.end()) return known->remedy;
  return "compare its address with the server's configuration, and see the server's log";
}

/// Redis repeats the arguments of a command that it does not know: of AUTH, a password, of which long ones are cut.
std::string_view without_arguments(std::string_view words) noexcept {
  constexpr std::string_view before = "with args";
  const auto at = words.find(before);
  return at == words.npos ? words : words.substr(0, at + before.size());
}

}  // namespace

Result<RedisEndpoint> redis_endpoint(const RemoteAddress& address) {
  RedisEndpoint endpoint;
  if (parse(address, endpoint)) return endpoint;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is no address of a Redis server; write "
                          "redis://[[user]:password@]host[:port][/database], or "
                          "redis+unix:///socket with a path of less than {} bytes",
                          address.shown(), sizeof(sockaddr_un::sun_path)));
}

Result<std::shared_ptr<RedisConnection>> RedisConnection::make(const RemoteAddress& address) {
  auto endpoint = redis_endpoint(address);
  if (!endpoint) return tl::unexpected(std::move(endpoint.error()));
  return std::make_shared<RedisConnection>(address, std::move(*endpoint));
}

RedisConnection::RedisConnection(RemoteAddress address, RedisEndpoint endpoint) noexcept
    : address_(std::move(address)), endpoint_(std::move(endpoint)) {}

RedisBounds RedisConnection::begin_call(std::uint64_t most_bytes) const noexcept {
  return {.deadline = Clock::now() + address_.timeout, .most_bytes = most_bytes};
}

Result<std::vector<RedisReply>> RedisConnection::run_all(const std::vector<RedisCommand>& commands,
                                                         const RedisBounds& bounds) {
  auto replies = connect(bounds.deadline).and_then([&] { return converse(commands, bounds); });
  if (!replies) drop();
  return replies;
}

Result<RedisReply> RedisConnection::run(const RedisCommand& command, const RedisBounds& bounds) {
  auto replies = run_all({command}, bounds);
  if (!replies) return tl::unexpected(std::move(replies.error()));
  return std::move(replies->front());
}

Result<std::vector<RedisReply>> RedisConnection::converse(const std::vector<RedisCommand>& commands,
                                                          const RedisBounds& bounds) {
  budget_.elements_left = most_elements;
  const std::string request = encoded(commands);
  std::string_view unsent = request;
  auto bytes_left = bounds.most_bytes;
  std::vector<RedisReply> replies;
  // This reads while it sends: a server may refuse in the middle of a long command, and hang up.
  while (replies.size() < commands.size()) {
    if (auto ready = wait(!unsent.empty(), bounds.deadline); !ready)
      return tl::unexpected(std::move(ready.error()));
    send_some(unsent);
    if (auto received = receive_some(bytes_left); !received)
      return tl::unexpected(std::move(received.error()));
    if (auto taken = take_replies(replies); !taken) return tl::unexpected(std::move(taken.error()));
  }
  // An answer that nobody asked for would pass for that to the next command.
  const bool too_much = replies.size() > commands.size() || reader_->pos < reader_->len;
  if (too_much || !unsent.empty()) return unexpected_answer();
  // hiredis keeps the room that a large answer took.
  if (bounds.most_bytes - bytes_left > most_bytes_kept) make_reader();
  return replies;
}

Outcome RedisConnection::connect(TimePoint deadline) {
  if (is_idle()) return {};
  drop();
  auto socket = open_socket(deadline);
  if (!socket) return tl::unexpected(std::move(socket.error()));
  socket_ = std::move(*socket);
  make_reader();
  return greet(deadline);
}

Result<system::Descriptor> RedisConnection::open_socket(TimePoint deadline) const {
  int error = 0;
  system::Descriptor socket;
  if (endpoint_.socket.empty()) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    addrinfo* first = nullptr;
    const int unknown =
        ::getaddrinfo(endpoint_.host.c_str(), endpoint_.port.c_str(), &wanted, &first);
    if (unknown != 0) return unreachable(::gai_strerror(unknown));
    socket = connect_to_host(Addresses(first), deadline, error);
  } else {
    socket = connect_to_socket(endpoint_.socket, deadline, error);
  }
  if (socket) return socket;
  if (error == ETIMEDOUT) return timed_out();
  return unreachable(std::strerror(error));
}

Outcome RedisConnection::greet(TimePoint deadline) {
  std::vector<RedisCommand> greeting;
  if (!endpoint_.user.empty()) {
    greeting.push_back({"AUTH", endpoint_.user, endpoint_.password});
  } else if (!endpoint_.password.empty()) {
    greeting.push_back({"AUTH", endpoint_.password});
  }
  if (endpoint_.database != "0") greeting.push_back({"SELECT", endpoint_.database});
  if (greeting.empty()) return {};
  auto greeted =
      converse(greeting, {.deadline = deadline, .most_bytes = most_bytes_of_small_answers});
  if (!greeted) return tl::unexpected(std::move(greeted.error()));
  return {};
}

/// A server says nothing before it is asked. If something can be read, it is the connection's end, or no answer to kiln.
bool RedisConnection::is_idle() const noexcept {
  if (!socket_) return false;
  pollfd event{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, 0) == 0;
}

void RedisConnection::make_reader() {
  reader_.reset(::redisReaderCreate());
  functions_ = *reader_->fn;
  budget_.make_array = std::exchange(functions_.createArray, make_array_within_budget);
  reader_->fn = &functions_;
  reader_->privdata = &budget_;
}

void* RedisConnection::make_array_within_budget(const redisReadTask* task, int elements) noexcept {
  auto& budget = *static_cast<ArrayBudget*>(task->privdata);
  const auto count = static_cast<std::size_t>(elements);
  if (count > budget.elements_left) return nullptr;
  budget.elements_left -= count;
  return budget.make_array(task, elements);
}

void RedisConnection::drop() noexcept {
  socket_.reset();
  reader_.reset();
}

Outcome RedisConnection::wait(bool to_send, TimePoint deadline) const {
  const auto left = time_left(deadline);
  if (left.count() == 0) return timed_out();
  const int events = to_send ? POLLIN | POLLOUT : POLLIN;
  pollfd event{.fd = socket_.get(), .events = static_cast<short>(events), .revents = 0};
  ::poll(&event, 1, static_cast<int>(left.count()));
  return {};
}

/// If the server takes no more, its last answer or the connection's end tells why.
void RedisConnection::send_some(std::string_view& unsent) const noexcept {
  if (unsent.empty()) return;
  const auto sent =
      ::send(socket_.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
}

Outcome RedisConnection::receive_some(std::uint64_t& bytes_left) {
  std::array<char, bytes_at_once> bytes;
  const auto count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (count < 0) return unreachable(std::strerror(errno));
  if (count == 0) return unreachable("it closed the connection");
  const auto size = static_cast<std::size_t>(count);
  if (size > bytes_left) return unexpected_answer();
  bytes_left -= size;
  if (::redisReaderFeed(reader_.get(), bytes.data(), size) != REDIS_OK) return unexpected_answer();
  return {};
}

Outcome RedisConnection::take_replies(std::vector<RedisReply>& replies) {
  for (;;) {
    void* read = nullptr;
    if (::redisReaderGetReply(reader_.get(), &read) != REDIS_OK) return unexpected_answer();
    if (read == nullptr) return {};
    RedisReply reply(static_cast<redisReply*>(read));
    if (const auto* error = error_in(*reply)) {
      const std::string_view words(error->str, error->len);
      const auto shown =
          words_without({endpoint_.user, endpoint_.password}, without_arguments(words));
      return failure(fmt::format("refuses: {}", shown), remedy_of(words));
    }
    replies.push_back(std::move(reply));
  }
}

tl::unexpected<Error> RedisConnection::failure(std::string_view what,
                                               std::string_view remedy) const {
  return fail(ErrorCode::io_failed,
              fmt::format("the Redis server {} {}; {}", address_.shown(), what, remedy));
}

tl::unexpected<Error> RedisConnection::unexpected_answer() {
  drop();
  return failure("gave an answer that no Redis server gives",
                 "see that its address names a Redis server");
}

tl::unexpected<Error> RedisConnection::timed_out() const {
  return failure(fmt::format("did not answer within {} ms", address_.timeout.count()),
                 "see that it runs and can be reached, or add '?timeout=MILLISECONDS' to its "
                 "address");
}

tl::unexpected<Error> RedisConnection::unreachable(std::string_view reason) const {
  return failure(fmt::format("cannot be reached: {}", reason),
                 "see that it runs, and that its address is right");
}

}  // namespace kiln::remote
