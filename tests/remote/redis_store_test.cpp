// A Redis server as a store and as a giver of leases: a real one, and sockets that play one that misbehaves.

#include "remote/redis_store.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis_server.h"
#include "remote/redis_connection.h"
#include "remote/remote_address.h"

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;
using test::RedisServer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kibi = 1024;

std::string name_of(int number) { return fmt::format("{:064x}", number); }
std::string token_of(int number) { return fmt::format("{:032x}", number); }
Digest request_of(int number) { return digest_of(std::to_string(number)); }

RemoteAddress address_of(const std::string& url, std::chrono::milliseconds timeout) {
  auto address = parse_remote(url).value();
  address.timeout = timeout;
  return address;
}

/// The first is for a machine that does much else, the second for tests that wait until the time is up.
constexpr std::chrono::milliseconds patient = 20s;
constexpr std::chrono::milliseconds hasty = 300ms;

Backend open(const std::string& url, std::chrono::milliseconds timeout = patient) {
  return open_redis(address_of(url, timeout)).value();
}

std::vector<std::string> objects_of(const Result<std::vector<StoreHint>>& hints) {
  std::vector<std::string> names;
  for (const auto& hint : hints.value()) names.push_back(hint.object);
  return names;
}

void expect_failure(const auto& result, const std::string& part,
                    ErrorCode code = ErrorCode::io_failed) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code);
  EXPECT_THAT(result.error().message, HasSubstr(part));
}

class RedisStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::is_installed()) GTEST_SKIP() << "redis-server is not installed";
    server_ = std::make_unique<RedisServer>();
    backend_ = open(server_->url());
    other_ = RedisConnection::make(address_of(server_->url(), patient)).value();
  }

  ObjectStore& store() { return *backend_.objects; }
  Leases& leases() { return *backend_.leases; }

  /// As somebody else at the server.
  RedisReply tell(const RedisCommand& command) {
    return other_->run(command, other_->begin_call()).value();
  }
  long long tell_number(const RedisCommand& command) { return tell(command)->integer; }

  std::string lease_key() const { return "kiln:l:" + name_of(1); }
  void end_lease() {
    ASSERT_EQ(tell_number({"PEXPIRE", lease_key(), "1"}), 1);
    std::this_thread::sleep_for(10ms);
  }

  std::unique_ptr<RedisServer> server_;
  Backend backend_;
  std::shared_ptr<RedisConnection> other_;
};

TEST_F(RedisStore, GivesObjectsByHostAndBySocket) {
  const std::string bytes("\0\r\n any bytes \xff", 16);
  EXPECT_EQ(store().get(name_of(1), kibi).value(), std::nullopt);
  EXPECT_TRUE(store().put(name_of(1), bytes).value());
  EXPECT_FALSE(store().put(name_of(1), bytes).value());
  EXPECT_EQ(store().get(name_of(1), kibi).value(), bytes);
  EXPECT_EQ(open(server_->socket_url()).objects->get(name_of(1), kibi).value(), bytes);
  EXPECT_TRUE(store().trusted_keys().empty());
}

TEST_F(RedisStore, ReplacesWhatIsDamaged) {
  for (const std::string damaged : {"byteS", "byte", "bytes and more"}) {
    tell({"SET", "kiln:o:" + name_of(1), damaged});
    EXPECT_TRUE(store().put(name_of(1), "bytes").value());
    EXPECT_EQ(store().get(name_of(1), kibi).value(), "bytes");
  }
}

TEST_F(RedisStore, BoundsObjects) {
  const std::string large(5'000 * kibi, 'x');
  EXPECT_TRUE(store().put(name_of(1), large).value());
  EXPECT_EQ(store().get(name_of(1), large.size()).value(), large);
  EXPECT_EQ(store().get(name_of(1), std::uint64_t(-1)).value(), large);
  expect_failure(store().get(name_of(1), large.size() - 1), name_of(1), ErrorCode::too_large);
  expect_failure(store().get(name_of(1), 0), server_->url(), ErrorCode::too_large);
}

TEST_F(RedisStore, GivesTheLatestHintsFirst) {
  EXPECT_THAT(store().hints(request_of(1), 16).value(), IsEmpty());
  for (const int number : {1, 2, 3})
    EXPECT_TRUE(store().add_hint(request_of(1), name_of(number), fmt::format("hint {}", number)));
  EXPECT_TRUE(store().add_hint(request_of(2), name_of(4), "of another request"));
  EXPECT_TRUE(store().add_hint(request_of(1), name_of(2), "hint 2, again"));
  const auto hints = store().hints(request_of(1), 16).value();
  ASSERT_THAT(hints, SizeIs(3));
  EXPECT_EQ(hints[0].object, name_of(2));
  EXPECT_EQ(hints[0].record.value(), "hint 2, again");
  EXPECT_EQ(hints[1].object, name_of(3));
  EXPECT_EQ(hints[2].object, name_of(1));
  EXPECT_THAT(objects_of(store().hints(request_of(1), 2)), ElementsAre(name_of(2), name_of(3)));
  EXPECT_THAT(objects_of(store().hints(request_of(1), 0)), IsEmpty());
}

TEST_F(RedisStore, LeavesOutHintsThatAreGone) {
  for (const int number : {1, 2, 3})
    EXPECT_TRUE(store().add_hint(request_of(1), name_of(number), ""));
  tell({"DEL", fmt::format("kiln:h:{}:{}", request_of(1).hex(), name_of(3))});
  tell({"LPUSH", "kiln:r:" + request_of(1).hex(), "no name"});
  tell({"SET", fmt::format("kiln:h:{}:no name", request_of(1).hex()), "anything"});
  EXPECT_THAT(objects_of(store().hints(request_of(1), 16)), ElementsAre(name_of(2), name_of(1)));
}

TEST_F(RedisStore, BoundsHints) {
  EXPECT_TRUE(store().add_hint(request_of(1), name_of(1), std::string(64 * kibi, 'x')));
  EXPECT_TRUE(store().add_hint(request_of(1), name_of(2), std::string(64 * kibi + 1, 'x')));
  const auto hints = store().hints(request_of(1), 16).value();
  ASSERT_THAT(hints, SizeIs(2));
  expect_failure(hints[0].record, name_of(2), ErrorCode::too_large);
  EXPECT_THAT(hints[1].record.value(), SizeIs(64 * kibi));
  // The sum of all: 63 such hints are less than 4 MiB, with their names, and 64 are more.
  const std::string hint(64 * kibi, 'x');
  for (int number = 1; number <= 65; ++number)
    EXPECT_TRUE(store().add_hint(request_of(2), name_of(number), hint));
  EXPECT_THAT(store().hints(request_of(2), 1'000).value(), SizeIs(63));
}

TEST_F(RedisStore, GivesTheObjectOfTheOnlyHintAlongWithIt) {
  const auto ask = [&](std::uint64_t most_bytes) {
    return backend_.hints_and_object(request_of(1), 8, most_bytes).value();
  };
  EXPECT_EQ(ask(kibi).object, std::nullopt) << "there is no hint";
  EXPECT_TRUE(store().add_hint(request_of(1), name_of(1), "hint"));
  EXPECT_THAT(ask(kibi).hints, SizeIs(1));
  EXPECT_EQ(ask(kibi).object, std::nullopt) << "it is gone";
  EXPECT_TRUE(store().put(name_of(1), std::string("any\0bytes", 9)).value());
  EXPECT_EQ(ask(9).object, std::string("any\0bytes", 9));
  EXPECT_EQ(ask(8).object, std::nullopt) << "it is too large";
  tell({"DEL", "kiln:o:" + name_of(1)});
  tell({"LPUSH", "kiln:o:" + name_of(1), "no object"});
  EXPECT_THAT(ask(kibi).hints, SizeIs(1)) << "they are well nevertheless";
  EXPECT_TRUE(store().add_hint(request_of(1), name_of(2), "hint"));
  EXPECT_TRUE(store().put(name_of(2), "bytes").value());
  EXPECT_THAT(ask(kibi).hints, SizeIs(2));
  EXPECT_EQ(ask(kibi).object, std::nullopt) << "nobody knows which is wanted";
}

TEST_F(RedisStore, KeepsAThousandHints) {
  for (int number = 1; number <= 1'001; ++number)
    ASSERT_TRUE(store().add_hint(request_of(1), name_of(number), "hint"));
  const auto objects = objects_of(store().hints(request_of(1), 5'000));
  ASSERT_THAT(objects, SizeIs(1'000));
  EXPECT_EQ(objects.front(), name_of(1'001));
  EXPECT_EQ(objects.back(), name_of(2));
}

TEST_F(RedisStore, ListsRequests) {
  EXPECT_THAT(store().requests().value(), IsEmpty());
  std::vector<Digest> expected;
  for (int number = 0; number < 1'500; ++number) {
    expected.push_back(request_of(number));
    ASSERT_TRUE(store().add_hint(request_of(number), name_of(number), "hint"));
  }
  tell({"SET", "kiln:r:somebody's", "no request"});
  std::ranges::sort(expected);
  EXPECT_EQ(store().requests().value(), expected);
}

TEST_F(RedisStore, LeavesRemovingToTheServer) {
  const auto collected = store().collect({});
  expect_failure(collected, "allkeys-lru", ErrorCode::invalid_argument);
  expect_failure(collected, server_->url(), ErrorCode::invalid_argument);
}

TEST_F(RedisStore, ConnectsAnew) {
  EXPECT_TRUE(store().put(name_of(1), "bytes").value());
  server_->kill();
  server_->start();
  EXPECT_EQ(store().get(name_of(1), kibi).value(), std::nullopt);
  server_->kill();
  expect_failure(store().get(name_of(1), kibi), server_->url());
  expect_failure(leases().take(name_of(1), token_of(1)), server_->url());
  server_->start();
  EXPECT_TRUE(store().put(name_of(1), "bytes").value());
}

TEST_F(RedisStore, SharesOneConnection) {
  EXPECT_FALSE(store().get(name_of(1), kibi).value());
  EXPECT_EQ(leases().take(name_of(1), token_of(1)).value(), LeaseAnswer::taken);
  const auto clients = tell({"CLIENT", "LIST"});
  EXPECT_EQ(std::ranges::count(std::string_view(clients->str, clients->len), '\n'), 2);
}

TEST_F(RedisStore, UsesTheDatabaseOfItsAddress) {
  EXPECT_TRUE(open(server_->url() + "/3").objects->put(name_of(1), "bytes").value());
  EXPECT_EQ(store().get(name_of(1), kibi).value(), std::nullopt);
  EXPECT_EQ(open(server_->url() + "/3").objects->get(name_of(1), kibi).value(), "bytes");
  expect_failure(open(server_->url() + "/99").objects->get(name_of(1), kibi), "index");
}

TEST_F(RedisStore, SaysWhatToDoAboutAServerThatTakesNothing) {
  tell({"CONFIG", "SET", "maxmemory", "1"});
  expect_failure(store().put(name_of(1), "bytes"), "allkeys-lru");
  expect_failure(store().add_hint(request_of(1), name_of(1), "hint"), "allkeys-lru");
  tell({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_THAT(store().hints(request_of(1), 16).value(), IsEmpty());
  tell({"SET", "kiln:r:" + request_of(1).hex(), "no list"});
  expect_failure(store().add_hint(request_of(1), name_of(1), "hint"), "delete the keys");
  tell({"REPLICAOF", "127.0.0.1", "1"});
  expect_failure(store().put(name_of(1), "bytes"), "read-only");
}

TEST_F(RedisStore, GivesPasswords) {
  const RedisServer server(
      {"--requirepass", "p@ss:/%", "--user", "farm", "on", ">secret", "~kiln:*", "+@all"});
  const std::string encoded = ":p%40ss%3a%2F%25@";
  EXPECT_FALSE(open(server.url(encoded)).objects->get(name_of(1), kibi).value());
  EXPECT_FALSE(open(server.socket_url(encoded)).objects->get(name_of(1), kibi).value());
  EXPECT_FALSE(open(server.url("farm:secret@")).objects->get(name_of(1), kibi).value());
  expect_failure(open(server.url()).objects->get(name_of(1), kibi), "give its address a password");
  const auto refused = open(server.url("farm:guessed@")).objects->get(name_of(1), kibi);
  expect_failure(refused, "correct the user and the password");
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(server.url()), Not(HasSubstr("guessed"))));
}

TEST_F(RedisStore, GivesALeaseToOne) {
  EXPECT_EQ(leases().take(name_of(1), token_of(1)).value(), LeaseAnswer::taken);
  EXPECT_EQ(leases().take(name_of(1), token_of(2)).value(), LeaseAnswer::held);
  EXPECT_EQ(leases().take(name_of(2), token_of(2)).value(), LeaseAnswer::taken);
  EXPECT_TRUE(leases().release(name_of(1), token_of(1), false));
  EXPECT_EQ(leases().take(name_of(1), token_of(2)).value(), LeaseAnswer::taken);
}

TEST_F(RedisStore, LetsOnlyItsHolderChangeALease) {
  EXPECT_FALSE(leases().prolong(name_of(1), token_of(1)).value());
  EXPECT_EQ(leases().take(name_of(1), token_of(1)).value(), LeaseAnswer::taken);
  EXPECT_TRUE(leases().release(name_of(1), token_of(2), false));
  EXPECT_TRUE(leases().release(name_of(1), token_of(2), true));
  EXPECT_FALSE(leases().prolong(name_of(1), token_of(2)).value());
  EXPECT_EQ(leases().take(name_of(1), token_of(2)).value(), LeaseAnswer::held);
  EXPECT_TRUE(leases().prolong(name_of(1), token_of(1)).value());
}

TEST_F(RedisStore, LeasesEndUnlessTheyAreProlonged) {
  EXPECT_EQ(leases().take(name_of(1), token_of(1)).value(), LeaseAnswer::taken);
  EXPECT_GT(tell_number({"PTTL", lease_key()}), 0);
  EXPECT_LE(tell_number({"PTTL", lease_key()}), 10'000);
  tell({"PEXPIRE", lease_key(), "1000000"});
  EXPECT_TRUE(leases().prolong(name_of(1), token_of(1)).value());
  EXPECT_LE(tell_number({"PTTL", lease_key()}), 10'000);
  end_lease();
  EXPECT_FALSE(leases().prolong(name_of(1), token_of(1)).value());
  EXPECT_EQ(leases().take(name_of(1), token_of(2)).value(), LeaseAnswer::taken);
}

TEST_F(RedisStore, TellsForAWhileThatAHolderFailed) {
  EXPECT_EQ(leases().take(name_of(1), token_of(1)).value(), LeaseAnswer::taken);
  EXPECT_TRUE(leases().release(name_of(1), token_of(1), true));
  EXPECT_EQ(leases().take(name_of(1), token_of(2)).value(), LeaseAnswer::failed);
  EXPECT_FALSE(leases().prolong(name_of(1), token_of(1)).value());
  EXPECT_LE(tell_number({"PTTL", lease_key()}), 5'000);
  end_lease();
  EXPECT_EQ(leases().take(name_of(1), token_of(2)).value(), LeaseAnswer::taken);
}

/// A thread that listens, and does the same to each client.
class FakeServer {
 public:
  /// Serves until it returns. send() gives false when the client is gone or the test ends.
  using Serve = std::function<void(FakeServer& server)>;

  explicit FakeServer(Serve serve) : serve_(std::move(serve)) {
    ::listen(port_.socket(), 5);
    thread_ = std::thread([this] { accept_all(); });
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    stopping_ = true;
    ::shutdown(port_.socket(), SHUT_RDWR);
    thread_.join();
  }

  [[nodiscard]] std::string url() const {
    return fmt::format("redis://127.0.0.1:{}", port_.number());
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!wait_for(POLLOUT)) return false;
      const auto sent =
          ::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  [[nodiscard]] bool is_stopping() const { return stopping_; }

  /// Some of what the client sends.
  bool receive() {
    std::array<char, 4096> bytes;
    return wait_for(POLLIN) && ::recv(client_.get(), bytes.data(), bytes.size(), 0) > 0;
  }

 private:
  bool wait_for(short events) {
    pollfd event{.fd = client_.get(), .events = events, .revents = 0};
    while (!stopping_) {
      if (::poll(&event, 1, 10) > 0) return true;
    }
    return false;
  }

  void accept_all() {
    while (!stopping_) {
      client_ = system::Descriptor(::accept4(port_.socket(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client_) serve_(*this);
      client_.reset();
    }
  }

  const Serve serve_;
  const test::LoopbackPort port_;
  system::Descriptor client_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// Answers each command so.
FakeServer::Serve answering(std::string answer) {
  return [answer = std::move(answer)](FakeServer& server) {
    while (server.receive() && server.send(answer)) {
    }
  };
}

Result<std::optional<std::string>> get_from(const FakeServer& server,
                                            std::chrono::milliseconds timeout = patient) {
  return open(server.url(), timeout).objects->get(name_of(1), kibi);
}

TEST(HostileRedisServer, DoesNotHoldACall) {
  const FakeServer dribbling([](FakeServer& server) {
    server.receive();
    server.send("$100\r\n");
    while (server.send("x")) std::this_thread::sleep_for(20ms);
  });
  const FakeServer silent([](FakeServer& server) {
    while (server.receive()) {
    }
  });
  for (const auto* server : {&dribbling, &silent}) {
    const auto begin = Clock::now();
    expect_failure(get_from(*server, hasty), "within 300 ms");
    EXPECT_GE(Clock::now() - begin, hasty);
    EXPECT_LT(Clock::now() - begin, 10s);
  }
}

TEST(HostileRedisServer, TakesNoMoreThanItMay) {
  const FakeServer deaf([](FakeServer& server) {
    while (!server.is_stopping()) std::this_thread::sleep_for(10ms);
  });
  expect_failure(open(deaf.url(), hasty).objects->put(name_of(1), std::string(20'000 * kibi, 'x')),
                 "within 300 ms");
}

TEST(HostileRedisServer, MaySendNoMoreThanTheBounds) {
  const FakeServer flooding([](FakeServer& server) {
    server.receive();
    server.send("$500000000\r\n");
    while (server.send(std::string(kibi, 'x'))) {
    }
  });
  expect_failure(get_from(flooding), "no Redis server gives");
}

TEST(HostileRedisServer, AnswersWhatIsNoAnswer) {
  for (const auto* answer :
       {"*2147483647\r\n", "*1\r\n*2147483647\r\n", "$-5\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
        ":5\r\n", "$1\r\nx\r\n$1\r\nx\r\n", "$1\r\nx\r\n$1\r\n"}) {
    const FakeServer server(answering(answer));
    SCOPED_TRACE(answer);
    expect_failure(get_from(server), "no Redis server gives");
    // Some of these take it for the begin of an answer, and wait for the rest.
    const auto backend = open(server.url(), hasty);
    expect_failure(backend.objects->hints(request_of(1), 16), server.url());
    expect_failure(backend.objects->requests(), server.url());
    expect_failure(backend.leases->take(name_of(1), token_of(1)), server.url());
  }
}

TEST(HostileRedisServer, SaysWhatATerminalShows) {
  const FakeServer server(answering("-LOADING \x1b[2J" + std::string(10 * kibi, 'x') + "\r\n"));
  const auto refused = get_from(server);
  expect_failure(refused, "refuses: LOADING ?[2Jxxx");
  EXPECT_THAT(refused.error().message, HasSubstr("when the server has loaded its data"));
  EXPECT_LT(refused.error().message.size(), 500);
}

/// What kiln says of a server that answers so to everything.
std::string told_of(const std::string& user, const std::string& answer) {
  const FakeServer server(answering(answer + "\r\n"));
  const auto url = "redis://" + user + server.url().substr(server.url().find("127"));
  const auto refused = open(url).objects->get(name_of(1), kibi);
  return refused ? "" : refused.error().message;
}

TEST(HostileRedisServer, RepeatsPasswords) {
  const std::string user = "farm:ses%40ame@";
  EXPECT_THAT(
      told_of(user, "-ERR unknown command 'AUTH', with args beginning with: 'farm' 'ses@am"),
      AllOf(HasSubstr("unknown command 'AUTH', with args;"), Not(HasSubstr("ses@")),
            Not(HasSubstr("farm"))));
  EXPECT_THAT(told_of(user, "-ERR no such login: farm ses@ame ses@ame, go"),
              HasSubstr("no such login: *** *** ***, go;"));
  EXPECT_THAT(told_of(":sesame@", "-ERR sesame" + std::string(190, 'x') + "sesame"),
              AllOf(HasSubstr("ERR ***xxx"), Not(HasSubstr("xs"))));
  // Short ones are parts of other words, which say what is wrong.
  EXPECT_THAT(told_of("user:pass@", "-WRONGPASS invalid username-password pair for user, pass"),
              HasSubstr("invalid username-password pair for ***, ***"));
  EXPECT_THAT(told_of("user:pass@", "-ERR bad login userpass"), HasSubstr("bad login ******"));
  EXPECT_THAT(told_of("admin:s3c@", "-ERR bad login admins3c of xs3cx"),
              HasSubstr("bad login ****** of x***x"));
}

// A real one that knows no AUTH.
TEST(RedisServerWithoutLogins, RepeatsNoPassword) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "redis-server is not installed";
  const RedisServer server({"--rename-command", "AUTH", ""});
  const auto refused = open(server.url("farm:sesame@")).objects->get(name_of(1), kibi);
  expect_failure(refused, "unknown command");
  EXPECT_THAT(refused.error().message, AllOf(Not(HasSubstr("sesame")), Not(HasSubstr("farm"))));
}

TEST(HostileRedisServer, HangsUpWhileItIsSentTo) {
  const std::string large(20'000 * kibi, 'x');
  const FakeServer leaving([](FakeServer& server) { server.receive(); });
  expect_failure(open(leaving.url()).objects->put(name_of(1), large), "cannot be reached");
  const FakeServer refusing([](FakeServer& server) {
    server.receive();
    server.send("-ERR max number of clients reached\r\n");
  });
  expect_failure(open(refusing.url()).objects->put(name_of(1), large),
                 "max number of clients reached");
}

TEST(HostileRedisServer, ListsRequestsForEver) {
  constexpr int keys = 50'000;
  const std::string head = fmt::format("*2\r\n$1\r\n7\r\n*{}\r\n", keys);
  const std::string begin_of_key = "$39\r\nkiln:r:";
  const std::size_t size_of_key = begin_of_key.size() + 32 + 2;
  const FakeServer listing([&](FakeServer& server) {
    std::string answer = head;
    for (int key = 0; key < keys; ++key) answer += begin_of_key + fmt::format("{:032x}\r\n", key);
    for (int step = 0; server.receive(); ++step) {
      // Other requests each time.
      const auto digits = fmt::format("{:04x}", step);
      for (auto at = head.size(); at < answer.size(); at += size_of_key)
        answer.replace(at + begin_of_key.size(), digits.size(), digits);
      if (!server.send(answer)) return;
    }
  });
  expect_failure(open(listing.url()).objects->requests(), "1000000", ErrorCode::too_large);
  const FakeServer turning(answering("*2\r\n$1\r\n7\r\n*0\r\n"));
  expect_failure(open(turning.url(), 20ms).objects->requests(), "ms");
}

TEST(RedisServerThatIsNotThere, IsNamed) {
  const std::string url = fmt::format("redis://127.0.0.1:{}", test::LoopbackPort().number());
  expect_failure(open(url).objects->get(name_of(1), kibi), url);
  expect_failure(open("redis+unix:///not/there").objects->get(name_of(1), kibi), "/not/there");
  expect_failure(open("redis://no..name").objects->get(name_of(1), kibi), "no..name");
}

Result<RedisEndpoint> endpoint_of(RemoteAddress::Kind kind, std::string url) {
  return redis_endpoint({.kind = kind, .url = std::move(url)});
}

TEST(RedisEndpoint, ReadsAddresses) {
  using enum RemoteAddress::Kind;
  const auto whole = endpoint_of(redis, "redis://me:a%3Ab@[::1]:7000/5").value();
  EXPECT_EQ(whole.host, "::1");
  EXPECT_EQ(whole.port, "7000");
  EXPECT_EQ(whole.user, "me");
  EXPECT_EQ(whole.password, "a:b");
  EXPECT_EQ(whole.database, "5");
  const auto plain = endpoint_of(redis, "redis://host/").value();
  EXPECT_EQ(plain.host, "host");
  EXPECT_EQ(plain.port, "6379");
  EXPECT_EQ(plain.database, "0");
  EXPECT_EQ(endpoint_of(redis_socket, "redis+unix:///a%20b/c").value().socket, "/a b/c");
}

TEST(RedisEndpoint, RefusesWhatIsNone) {
  using enum RemoteAddress::Kind;
  for (const auto* rest :
       {"", "[::1", "[::1]7000", "host:", "host:port", "host/name", "host/1/2"}) {
    const auto none = endpoint_of(redis, fmt::format("redis://:secret@{}", rest));
    expect_failure(none, "redis://", ErrorCode::invalid_argument);
    EXPECT_THAT(none.error().message, Not(HasSubstr("secret")));
  }
  expect_failure(endpoint_of(redis, "redis://:a%4@host"), "host", ErrorCode::invalid_argument);
  expect_failure(endpoint_of(redis_socket, "redis+unix:///" + std::string(200, 'x')), "108 bytes",
                 ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace kiln::remote
