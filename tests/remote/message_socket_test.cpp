#include "remote/message_socket.h"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/wire_record.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;
using State = MessageSocket::State;

constexpr std::uint64_t most = std::uint64_t{8} << 20;

/// One end carries messages, the other is the test's.
class MessageSocketTest : public ::testing::Test {
 protected:
  MessageSocketTest() : socket_(system::Descriptor(), 0) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    socket_ = MessageSocket(system::Descriptor(ends[0]), most);
    other_ = system::Descriptor(ends[1]);
  }

  void say(const std::string& bytes) {
    ASSERT_EQ(::send(other_.get(), bytes.data(), bytes.size(), 0), bytes.size());
  }
  static std::string header(std::uint64_t size) { return wire::encode(size); }
  static auto soon() { return MessageSocket::Clock::now() + 20ms; }
  static auto late() { return MessageSocket::Clock::now() + 60s; }

  MessageSocket socket_;
  system::Descriptor other_;
  std::string message_;
};

TEST_F(MessageSocketTest, CarriesMessagesOfAnyLength) {
  MessageSocket other(std::move(other_), most);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, std::size_t{most}}) {
    const std::string sent(size, 'm');
    std::jthread sender([&] { EXPECT_EQ(other.send(sent, late()), State::ok); });
    ASSERT_EQ(socket_.receive(message_, late()), State::ok);
    EXPECT_EQ(message_, sent);
  }
}

TEST_F(MessageSocketTest, WaitsForTheRestOfAMessage) {
  std::jthread sender([&] {
    for (const char byte : header(3) + "abc") {
      say(std::string(1, byte));
      std::this_thread::sleep_for(1ms);
    }
  });
  ASSERT_EQ(socket_.receive(message_, std::nullopt), State::ok);
  EXPECT_EQ(message_, "abc");
}

TEST_F(MessageSocketTest, ATruncatedMessageIsAnEnd) {
  const auto whole = header(3) + "abc";
  std::array<int, 2> ends{};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    MessageSocket socket{system::Descriptor(ends[0]), most};
    ASSERT_EQ(::send(ends[1], whole.data(), size, 0), size);
    ::close(ends[1]);
    EXPECT_EQ(socket.receive(message_, late()), State::ended) << size;
  }
}

TEST_F(MessageSocketTest, ALengthBeyondTheMostIsAnEnd) {
  say(header(most + 1) + "abc");
  EXPECT_EQ(socket_.receive(message_, late()), State::ended);
}

TEST_F(MessageSocketTest, ALengthThatLiesTakesNoMoreMemoryThanCame) {
  say(header(most) + "abc");
  EXPECT_EQ(socket_.receive(message_, soon()), State::timed_out);
  EXPECT_LE(message_.capacity(), std::size_t{2} << 20);
}

TEST_F(MessageSocketTest, WhoTakesNothingIsNotWaitedForForEver) {
  const std::string large(most, 'x');
  EXPECT_EQ(socket_.send(large, soon()), State::timed_out);
}

TEST_F(MessageSocketTest, WhoIsGoneIsAnEndAndNoSignal) {
  other_.reset();
  EXPECT_EQ(socket_.send("abc", late()), State::ended);
  EXPECT_EQ(socket_.receive(message_, late()), State::ended);
}

TEST(RemoteProtocol, AnyBytesDecodeToNothingOrToTheirOneSpelling) {
  std::mt19937 random(7);
  const auto sound = wire::encode(Call(Introduction{
      .build = "build", .address = {.url = "redis://cache"}, .trust = {}, .trusted_keys = "key"}));
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = sound;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 9), static_cast<char>(random()));
    const auto call = wire::decode<Call>(bytes);
    EXPECT_TRUE(!call || wire::encode(*call) == bytes);
  }
  EXPECT_TRUE(wire::decode<Call>(sound));
  EXPECT_FALSE(wire::decode<Call>(sound + '\0'));
}

TEST(RemoteProtocol, ACountThatLiesTakesNoMemory) {
  const auto lying = wire::encode(true, ~std::uint64_t{0});
  EXPECT_FALSE(wire::decode<Result<std::vector<WireHint>>>(lying));
}

}  // namespace
}  // namespace kiln::remote
