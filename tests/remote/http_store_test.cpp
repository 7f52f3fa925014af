// A store on an nginx, and on servers that are none.

#include "http_store.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client.h"
#include "http_server.h"
#include "sha256.h"

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;

using std::chrono::steady_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string some_name(64, 'a');
const std::string other_name(64, 'b');
const Digest some_request = digest_of("a request");

constexpr std::uint64_t plenty = 1 << 20;

std::string name_of(int number) { return sha256_hex(std::to_string(number)); }

std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<StoreHint>& hints) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(hints.size());
  for (const auto& hint : hints) pairs.emplace_back(hint.object, hint.record.value());
  return pairs;
}

template <class Outcome>
void expect_error(const Outcome& result, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("http://127.0.0.1:"), HasSubstr(text)));
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class HttpStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::HttpServer::is_installed()) GTEST_SKIP() << "there is no nginx on this machine";
    server_.start();
  }

  [[nodiscard]] std::unique_ptr<ObjectStore> store(const std::string& place = "free/",
                                                   const std::string& user = {}) const {
    return open_http(server_.address(place, user)).value().objects;
  }

  test::HttpServer server_;
};

TEST_F(HttpStoreTest, GivesWhatWasPut) {
  const auto store = this->store("free/deep/down");
  EXPECT_EQ(store->get(some_name, plenty).value(), std::nullopt);
  EXPECT_TRUE(store->put(some_name, "bytes").value());
  EXPECT_FALSE(store->put(some_name, "bytes").value());
  EXPECT_EQ(store->get(some_name, plenty).value(), "bytes");
  EXPECT_EQ(test::read_file(server_.file("free/deep/down/o/" + some_name)), "bytes");
  EXPECT_TRUE(store->put(other_name, "").value());
  EXPECT_EQ(store->get(other_name, 0).value(), "");
}

TEST_F(HttpStoreTest, TakesLargeObjectsWhole) {
  const auto store = this->store();
  std::string bytes(3 << 20, '\0');
  for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<char>(at * at >> 3);
  EXPECT_TRUE(store->put(some_name, bytes).value());
  EXPECT_EQ(store->get(some_name, bytes.size()).value(), bytes);
}

TEST_F(HttpStoreTest, BoundsWhatItTakes) {
  const auto store = this->store();
  ASSERT_TRUE(store->put(some_name, "123456"));
  EXPECT_EQ(store->get(some_name, 6).value(), "123456");
  expect_error(store->get(some_name, 5), ErrorCode::too_large, "more than 5 bytes");
  EXPECT_EQ(store->get(some_name, 6).value(), "123456");
  EXPECT_EQ(store->get(other_name, 0).value(), std::nullopt);
}

TEST_F(HttpStoreTest, ReplacesWhatIsDamaged) {
  const auto store = this->store();
  for (const auto* damaged : {"byteX", "bytes and more", ""}) {
    test::write_file(server_.file("free/o/" + some_name), damaged);
    EXPECT_TRUE(store->put(some_name, "bytes").value());
    EXPECT_EQ(store->get(some_name, plenty).value(), "bytes");
  }
}

TEST_F(HttpStoreTest, GivesTheLatestHintsFirst) {
  const auto store = this->store();
  EXPECT_THAT(store->hints(some_request, 9).value(), IsEmpty());
  ASSERT_TRUE(store->add_hint(some_request, some_name, "one"));
  ASSERT_TRUE(store->add_hint(some_request, other_name, std::string("\0two", 4)));
  EXPECT_THAT(pairs_of(store->hints(some_request, 9).value()),
              ElementsAre(std::pair(other_name, std::string("\0two", 4)),
                          std::pair(some_name, std::string("one"))));
  ASSERT_TRUE(store->add_hint(some_request, some_name, ""));
  EXPECT_THAT(pairs_of(store->hints(some_request, 1).value()),
              ElementsAre(std::pair(some_name, std::string())));
  EXPECT_THAT(store->hints(some_request, 9).value(), SizeIs(2));
  EXPECT_THAT(store->hints(digest_of("another"), 9).value(), IsEmpty());
}

TEST_F(HttpStoreTest, KeepsSixteenHints) {
  const auto store = this->store();
  for (int number = 0; number < 18; ++number)
    ASSERT_TRUE(store->add_hint(some_request, name_of(number), "hint"));
  const auto hints = store->hints(some_request, 99).value();
  ASSERT_THAT(hints, SizeIs(16));
  EXPECT_EQ(hints.front().object, name_of(17));
  EXPECT_EQ(hints.back().object, name_of(2));
}

TEST_F(HttpStoreTest, KeepsAMegabyteOfHints) {
  const auto store = this->store();
  const std::string hint(400'000, 'h');
  for (int number = 0; number < 3; ++number)
    ASSERT_TRUE(store->add_hint(some_request, name_of(number), hint));
  EXPECT_THAT(pairs_of(store->hints(some_request, 9).value()),
              ElementsAre(std::pair(name_of(2), hint), std::pair(name_of(1), hint)));
  expect_error(store->add_hint(some_request, some_name, std::string(plenty, 'h')),
               ErrorCode::io_failed, "no room for a hint");
}

TEST_F(HttpStoreTest, TakesAnyBytesForHints) {
  const auto store = this->store();
  ASSERT_TRUE(store->add_hint(some_request, some_name, "one"));
  ASSERT_TRUE(store->add_hint(some_request, other_name, "two"));
  const auto file = server_.file("free/r/" + some_request.hex());
  const auto whole = test::read_file(file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::write_file(file, whole.substr(0, size));
    EXPECT_LT(store->hints(some_request, 9).value().size(), 2) << size;
  }
  auto unlike_names = whole;
  unlike_names[9] = '/';
  for (const auto& damaged : {std::string("nonsense"), whole.substr(0, 5) + "\xff\xff\xff\xff...",
                              unlike_names, std::string(plenty, '\xff')}) {
    test::write_file(file, damaged);
    EXPECT_THAT(store->hints(some_request, 9).value(), IsEmpty());
    ASSERT_TRUE(store->add_hint(some_request, some_name, "one"));
    EXPECT_THAT(store->hints(some_request, 9).value(), SizeIs(1));
  }
  test::write_file(file, std::string(plenty + 1, 'x'));
  expect_error(store->hints(some_request, 9), ErrorCode::too_large, some_request.hex());
  ASSERT_TRUE(store->add_hint(some_request, some_name, "one"));
  EXPECT_THAT(store->hints(some_request, 9).value(), SizeIs(1));
}

TEST_F(HttpStoreTest, SaysWhatAServerCannotDo) {
  const auto store = this->store();
  expect_error(store->requests(), ErrorCode::invalid_argument, "does not list");
  expect_error(store->collect({}), ErrorCode::invalid_argument, "have a job there");
}

TEST_F(HttpStoreTest, NamesItselfToAServerThatAsks) {
  const auto known = store("closed/", "user:pass%20word@");
  EXPECT_TRUE(known->put(some_name, "bytes").value());
  EXPECT_EQ(known->get(some_name, plenty).value(), "bytes");
  for (const auto* user : {"", "user:pass@", "user@", "other:pass%20word@"}) {
    const auto unknown = store("closed/", user);
    const auto got = unknown->get(some_name, plenty);
    expect_error(got, ErrorCode::io_failed, "check user and password");
    EXPECT_EQ(got.error().vendor_code, 401);
    EXPECT_THAT(got.error().message, Not(HasSubstr("pass%20word")));
    expect_error(unknown->put(some_name, "bytes"), ErrorCode::io_failed, "answers 401");
  }
}

TEST_F(HttpStoreTest, SaysWhyNothingCanBePut) {
  expect_error(store("still/")->put(some_name, "bytes"), ErrorCode::io_failed,
               "answers 405 to PUT");
  expect_error(store()->put(some_name, std::string(9 << 20, 'x')), ErrorCode::io_failed,
               "client_max_body_size");
}

TEST_F(HttpStoreTest, SaysWhyNoFolderIsMade) {
  expect_error(store("flat/")->put(some_name, "bytes"), ErrorCode::io_failed,
               "create_full_put_path");
}

TEST_F(HttpStoreTest, FollowsNoRedirect) {
  ASSERT_TRUE(store()->put(some_name, "bytes"));
  expect_error(store("away/")->get(some_name, plenty), ErrorCode::io_failed, "that it leads to");
}

TEST_F(HttpStoreTest, GoesThroughNoProxyThatNobodyNamed) {
  const auto port = test::ListeningPort().number();
  ASSERT_TRUE(store()->put(some_name, "bytes"));
  const test::ScopedVariable proxy("http_proxy", "http://127.0.0.1:" + std::to_string(port));
  EXPECT_FALSE(store()->get(some_name, plenty));
  const test::ScopedVariable none("no_proxy", "127.0.0.1");
  EXPECT_EQ(store()->get(some_name, plenty).value(), "bytes");
}

TEST(HttpClients, RepeatNoPasswordOfAProxy) {
  RemoteAddress address;
  address.kind = RemoteAddress::Kind::http;
  address.url = "http://127.0.0.1:1/";
  const auto nobody = std::to_string(test::ListeningPort().number());
  for (const std::string& proxy :
       {"http://farm:sesame@127.0.0.1:" + nobody, "http://farm:sesame@no..name:" + nobody,
        std::string("http://farm:sesame@127.0.0.1:port"),
        "strange://farm:sesame@127.0.0.1:" + nobody, std::string("http://farm:sesame@"),
        std::string("farm:sesame")}) {
    const test::ScopedVariable variable("http_proxy", proxy);
    const test::ScopedVariable without("no_proxy", "");
    const auto got = open_http(address).value().objects->get(some_name, plenty);
    SCOPED_TRACE(proxy);
    expect_error(got, ErrorCode::io_failed, "whether the proxy that the environment names works");
    EXPECT_THAT(got.error().message, AllOf(Not(HasSubstr("sesame")), Not(HasSubstr("farm"))));
  }
}

TEST_F(HttpStoreTest, SaysWhatTheSystemSays) {
  server_.stop();
  expect_error(store()->get(some_name, plenty), ErrorCode::io_failed, "(Connection refused)");
}

TEST_F(HttpStoreTest, OutlivesItsServer) {
  const auto store = this->store();
  ASSERT_TRUE(store->put(some_name, "bytes"));
  // The connection is closed meanwhile, and nobody was told.
  server_.stop();
  server_.start();
  EXPECT_EQ(store->get(some_name, plenty).value(), "bytes");
  server_.stop();
  server_.start();
  EXPECT_TRUE(store->put(other_name, std::string(plenty, 'x')).value());
  server_.stop();
  const auto began = steady_clock::now();
  expect_error(store->get(some_name, plenty), ErrorCode::io_failed, "see whether it runs");
  expect_error(store->put(some_name, "bytes"), ErrorCode::io_failed, "see whether it runs");
  EXPECT_LT(steady_clock::now() - began, 3s);
  server_.start();
  EXPECT_EQ(store->get(some_name, plenty).value(), "bytes");
}

TEST_F(HttpStoreTest, TakesNoUrlThatIsNone) {
  auto address = server_.address("free/");
  address.url = "http://127.0.0.1:port/";
  expect_error(open_http(address), ErrorCode::invalid_argument, "is no url");
}

/// Gives its answers in turn, and closes the connection after each.
class OddServer {
 public:
  /// The rest comes one byte at a time, after each.
  explicit OddServer(std::vector<std::string> answers, std::string slowly = {})
      : answers_(std::move(answers)), slowly_(std::move(slowly)), thread_([this] {
          while (!is_over_) serve();
        }) {}
  OddServer(const OddServer&) = delete;
  OddServer& operator=(const OddServer&) = delete;
  ~OddServer() { stop(); }

  /// The first lines of all that was asked, without their protocol.
  std::vector<std::string> stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
    return asked_;
  }

  [[nodiscard]] RemoteAddress address() const {
    RemoteAddress address;
    address.kind = RemoteAddress::Kind::http;
    address.url = "http://127.0.0.1:" + std::to_string(port_.number()) + "/";
    return address;
  }
  /// As if it were S3.
  [[nodiscard]] RemoteAddress s3_address() const {
    auto address = this->address();
    address.kind = RemoteAddress::Kind::s3;
    address.endpoint = std::exchange(address.url, "s3://bucket");
    return address;
  }

 private:
  void serve() {
    if (!has_something(port_.socket())) return;
    const system::Descriptor guest(::accept(port_.socket(), nullptr, nullptr));
    const auto asked = read_request(guest.get());
    if (asked.empty()) return;
    asked_.push_back(asked.substr(0, asked.find(" HTTP/")));
    if (!say(guest.get(), answers_[(asked_.size() - 1) % answers_.size()])) return;
    for (const char letter : slowly_) {
      std::this_thread::sleep_for(20ms);
      if (is_over_ || !say(guest.get(), {&letter, 1})) return;
    }
  }

  /// With its body: what was not read when a connection is closed takes the answer with it.
  [[nodiscard]] std::string read_request(int socket) const {
    std::string text;
    std::size_t whole = std::string::npos;
    while (text.size() < whole) {
      std::string more(4096, '\0');
      while (!has_something(socket))
        if (is_over_) return {};
      const auto count = ::recv(socket, more.data(), more.size(), 0);
      if (count <= 0) return {};
      text += more.substr(0, static_cast<std::size_t>(count));
      const auto end_of_head = text.find("\r\n\r\n");
      if (end_of_head == std::string::npos) continue;
      const std::string_view length = "Content-Length: ";
      const auto at = text.find(length);
      whole = end_of_head + 4;
      if (at < whole) whole += std::stoul(text.substr(at + length.size()));
    }
    return text;
  }

  static bool has_something(int socket) {
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 20) > 0;
  }
  static bool say(int socket, std::string_view text) {
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  const test::ListeningPort port_;
  const std::vector<std::string> answers_;
  const std::string slowly_;
  std::vector<std::string> asked_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

std::string answer_of(int status, const std::string& body = {}) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Odd\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(OddServers, EndWithinTheTimeout) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
  for (const auto& [at_once, slowly] :
       {std::pair(head, std::string(1000, 'x')), std::pair(std::string(), head),
        std::pair(std::string("HTTP/1.1 200 OK\r\nX: "), std::string(1000, 'x'))}) {
    const OddServer server({at_once}, slowly);
    auto address = server.address();
    address.timeout = 300ms;
    const auto backend = open_http(address).value();
    const auto began = steady_clock::now();
    expect_error(backend.objects->get(some_name, plenty), ErrorCode::io_failed, "within 300 ms");
    expect_error(backend.objects->put(some_name, "x"), ErrorCode::io_failed, "raise timeout=");
    expect_error(backend.leases->take(some_name, std::string(32, '1')), ErrorCode::io_failed,
                 "300 ms");
    EXPECT_LT(steady_clock::now() - began, 3s);
  }
}

TEST(OddServers, AreNotBelieved) {
  const std::string endless = "HTTP/1.1 200 OK\r\n\r\n" + std::string(2000, 'x');
  for (const auto& said :
       {std::string("SSH-2.0-OpenSSH_9.2\r\n"), std::string(5000, '\0'), std::string("\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"), answer_of(999),
        answer_of(206, "x")}) {
    const OddServer server({said});
    const auto backend = open_http(server.address()).value();
    expect_error(backend.objects->get(some_name, plenty), ErrorCode::io_failed, "; ");
    expect_error(backend.objects->hints(some_request, 1), ErrorCode::io_failed, "; ");
    expect_error(backend.leases->take(some_name, std::string(32, '1')), ErrorCode::io_failed, "; ");
  }
  const OddServer server({endless});
  expect_error(open_http(server.address()).value().objects->get(some_name, 1000),
               ErrorCode::too_large, "more than 1000 bytes");
}

TEST(OddServers, MayWantFoldersFirst) {
  OddServer server({answer_of(404), answer_of(409), answer_of(201), answer_of(201)});
  EXPECT_TRUE(open_http(server.address()).value().objects->put(some_name, "bytes").value());
  const auto object = "/o/" + some_name;
  EXPECT_THAT(server.stop(),
              ElementsAre("GET " + object, "PUT " + object, "MKCOL /o/", "PUT " + object));
}

TEST(OddServers, MayRefuseForWantOfAFolder) {
  const OddServer server({answer_of(409)});
  const auto backend = open_http(server.address()).value();
  EXPECT_FALSE(backend.objects->put(some_name, "bytes"));
  expect_error(backend.leases->take(some_name, std::string(32, '1')), ErrorCode::io_failed,
               "answers 409");
}

TEST(OddServers, MayBeS3WithoutConditions) {
  OddServer server({answer_of(200)});
  auto backend = open_http(server.s3_address()).value();
  for (int time = 0; time < 2; ++time) {
    const auto taken = backend.leases->take(some_name, std::string(32, '1'));
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error().message, HasSubstr("heed If-None-Match"));
  }
  EXPECT_THAT(server.stop(), SizeIs(3));
}

TEST(OddServers, MayBeS3ThatWantsKeys) {
  const test::ScopedVariable key("AWS_ACCESS_KEY_ID", "");
  const test::ScopedVariable secret("AWS_SECRET_ACCESS_KEY", "");
  const OddServer server({answer_of(403, "<Error><Code>AccessDenied</Code></Error>")});
  const auto got = open_http(server.s3_address()).value().objects->get(some_name, plenty);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message,
              AllOf(HasSubstr("s3://bucket answers 403 (AccessDenied) to GET"),
                    HasSubstr("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")));
}

TEST(OddServers, MayRepeatPasswords) {
  const OddServer server({answer_of(403, "<Error><Code>Not.sesame.for.farm</Code></Error>")});
  auto address = server.address();
  address.url.insert(address.url.find("127"), "farm:ses%61me@");
  expect_error(open_http(address).value().objects->get(some_name, plenty), ErrorCode::io_failed,
               "answers 403 (Not.***.for.***)");
}

TEST(OddServers, MayListS3Oddly) {
  const auto request = digest_of("a request");
  const OddServer server(
      {answer_of(200, "<Key>x/r/" + request.hex() + "</Key><Key>r/odd</Key><Key></Key><Key>")});
  const auto backend = open_http(server.s3_address()).value();
  EXPECT_THAT(backend.objects->requests().value(), ElementsAre(request));
}

}  // namespace
}  // namespace kiln::remote
