#include "remote/asked_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "signing/signature.h"

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;

/// What a server does, and how it is asked.
struct Behaviour {
  std::chrono::milliseconds takes = 0ms;
  std::chrono::milliseconds first_takes = 0ms;  ///< As on a connection that has broken.
  std::atomic<int> asked = 0;
  std::atomic<int> at_once = 0;
  std::atomic<int> most_at_once = 0;

  void answer() {
    const bool is_first = ++asked == 1;
    most_at_once = std::max(most_at_once.load(), ++at_once);
    std::this_thread::sleep_for(is_first ? std::max(first_takes, takes) : takes);
    --at_once;
  }
};

/// A store that has nothing, and takes its time.
class EmptyStore : public ObjectStore {
 public:
  explicit EmptyStore(std::shared_ptr<Behaviour> behaviour)
      : ObjectStore({}), behaviour_(std::move(behaviour)) {}

  Result<std::optional<std::string>> get(const std::string& /*name*/,
                                         std::uint64_t /*most_bytes*/) override {
    behaviour_->answer();
    return std::nullopt;
  }
  Result<std::vector<StoreHint>> hints(const Digest& /*request*/, std::size_t /*most*/) override {
    behaviour_->answer();
    return std::vector<StoreHint>();
  }
  Result<bool> put(const std::string& /*name*/, std::string_view /*bytes*/) override {
    return false;
  }
  Outcome add_hint(const Digest& /*request*/, const std::string& /*name*/,
                   std::string_view /*hint*/) override {
    return {};
  }
  Result<std::vector<Digest>> requests() override { return std::vector<Digest>(); }
  Result<GcReport> collect(const GcOptions& /*options*/) override { return GcReport(); }

 protected:
  const std::shared_ptr<Behaviour> behaviour_;
};

/// Never destroyed, and never lost either: a thread may wait for an answer when its test is over.
template <class Type>
Type& for_good(Type* made) {
  static auto& all = *new std::vector<Type*>();
  all.push_back(made);
  return *made;
}

class AskedServer : public testing::Test {
 protected:
  explicit AskedServer(std::chrono::milliseconds takes = 100ms) { behaviour_->takes = takes; }

  Result<Heard> ask_for_hints(std::chrono::microseconds budget, bool hasty) {
    return server_.hints({.request = Digest(),
                          .most = 8,
                          .budget_us = static_cast<std::uint64_t>(budget.count()),
                          .hasty = hasty});
  }

  template <class Ask>
  static void at_once(Ask&& ask) {
    std::vector<std::jthread> threads;
    for (int asker = 0; asker < 8; ++asker) threads.emplace_back(ask);
  }

  const std::shared_ptr<Behaviour> behaviour_ = std::make_shared<Behaviour>();
  Broker& broker_ = for_good(new Broker(
      [behaviour = behaviour_](bool /*writes*/) -> Result<Backend> {
        return Backend{std::make_unique<EmptyStore>(behaviour), nullptr};
      },
      16));
  Lately& lately_ = for_good(new Lately());
  Server& server_ = for_good(new Server{broker_, lately_});
};

TEST_F(AskedServer, IsAskedOnceByAllWhoAskTheSameTogether) {
  at_once([&] { EXPECT_TRUE(ask_for_hints(30s, true)); });
  EXPECT_EQ(behaviour_->asked, 1);
}

// Nothing of that is kept, and it may come at any moment.
TEST_F(AskedServer, IsAskedForWhatItHasNotByAllWhoWaitedAtOnce) {
  at_once([&] {
    const auto object =
        server_.object({.name = std::string(64, 'a'), .most_bytes = 1000, .budget_us = 30'000'000});
    ASSERT_TRUE(object);
    EXPECT_FALSE(object->bytes);
  });
  EXPECT_GT(behaviour_->most_at_once, 1) << "they came one after another";
}

// Another one has another connection; more would be a burden to a server that is slow.
TEST_F(AskedServer, IsAskedByOneMoreOfThoseWhomOneKeepsWaitingHalfOfTheirTime) {
  behaviour_->takes = 0ms;
  behaviour_->first_takes = 60s;
  std::atomic<int> answered = 0;
  at_once([&] { answered += ask_for_hints(4s, false) ? 1 : 0; });
  EXPECT_EQ(answered, 7);
  EXPECT_EQ(behaviour_->asked, 2);
}

/// A server, or a network, that damages the first object that it gives.
class DamagingStore final : public EmptyStore {
 public:
  using EmptyStore::EmptyStore;

  Result<std::optional<std::string>> get(const std::string& /*name*/,
                                         std::uint64_t /*most_bytes*/) override {
    return ++behaviour_->asked == 1 ? "bytez" : "bytes";
  }
};

TEST_F(AskedServer, GivesADamagedObjectToOneAndToNobodyElse) {
  ASSERT_TRUE(storage::prepare_to_hash());
  std::string name;
  for (const unsigned char byte : storage::hash_of("bytes")) name += fmt::format("{:02x}", byte);
  auto& server =
      for_good(new Server{for_good(new Broker(
                              [behaviour = behaviour_](bool) -> Result<Backend> {
                                return Backend{std::make_unique<DamagingStore>(behaviour), nullptr};
                              },
                              1)),
                          lately_});
  for (const auto* given : {"bytez", "bytes", "bytes"}) {
    const auto object =
        server.object({.name = name, .most_bytes = 1000, .budget_us = 30'000'000}).value();
    EXPECT_EQ(object.bytes, given);
  }
  EXPECT_EQ(behaviour_->asked, 2) << "what is as it should be is remembered";
}

/// Of its hints one cannot be read.
class StoreOfTwoHints final : public EmptyStore {
 public:
  using EmptyStore::EmptyStore;

  Result<std::vector<StoreHint>> hints(const Digest& /*request*/, std::size_t /*most*/) override {
    std::vector<StoreHint> hints(2);
    hints[0] = {std::string(64, 'a'), fail(ErrorCode::too_large, "it is too large")};
    hints[1] = {std::string(64, 'b'), std::string("record")};
    return hints;
  }
  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t /*most_bytes*/) override {
    return "of " + name.substr(0, 1);
  }
};

TEST_F(AskedServer, GivesTheObjectOfTheOnlyHintThatCanBeReadAlongWithIt) {
  auto& broker = for_good(new Broker(
      [behaviour = behaviour_](bool) -> Result<Backend> {
        return Backend{std::make_unique<StoreOfTwoHints>(behaviour), nullptr};
      },
      1));
  const auto heard = for_good(new Server{broker, lately_})
                         .hints({.request = Digest(),
                                 .most = 8,
                                 .budget_us = 30'000'000,
                                 .hasty = false,
                                 .with_object = true})
                         .value();
  ASSERT_EQ(heard.hints.size(), 1U);
  EXPECT_EQ(heard.hints[0].object, std::string(64, 'b'));
  EXPECT_EQ(heard.object, "of b");
}

TEST(AskedOnceTest, WhoGivesUpEndsNobodysWaitForTheFirst) {
  AskedOnce once;
  const auto now = [] { return AskedOnce::Clock::now(); };
  auto first = once.take("what", now(), now());
  ASSERT_TRUE(first);
  std::atomic<bool> is_waiting = true;
  std::jthread patient([&] {
    static_cast<void>(once.take("what", now() + 24h, now() + 24h));
    is_waiting = false;
  });
  auto second = once.take("what", now(), now() + 60s);
  EXPECT_TRUE(second) << "the first takes too long for him";
  EXPECT_FALSE(once.take("what", now(), now())) << "two ask already";
  second.reset();
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(is_waiting);
  EXPECT_TRUE(once.take("what", now(), now() + 60s)) << "somebody may take the place of the second";
  first.reset();
  patient.join();
  EXPECT_TRUE(once.take("what", now(), now())) << "nobody asks any more";
}

TEST(AskedOnceTest, WhoWaitsIsToldWhatTheSecondHears) {
  AskedOnce once;
  const auto now = [] { return AskedOnce::Clock::now(); };
  const auto first = once.take("what", now(), now());
  std::jthread patient([&] { static_cast<void>(once.take("what", now() + 24h, now() + 24h)); });
  const auto second = once.take("what", now(), now() + 60s);
  std::this_thread::sleep_for(50ms);
  once.tell_heard("what");
  patient.join();
}

class HungServer : public AskedServer {
 protected:
  HungServer() : AskedServer(3s) {}
};

// His time does not count against the server, so that it would not be left alone.
TEST_F(HungServer, IsLeftAloneThoughSomebodyWithTimeAskedItFirst) {
  const std::jthread patient([&] { static_cast<void>(ask_for_hints(30s, false)); });
  while (behaviour_->asked == 0) std::this_thread::sleep_for(1ms);
  at_once([&] {
    const auto heard = ask_for_hints(30s, true);
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code, ErrorCode::cache_unusable) << heard.error().message;
  });
  EXPECT_TRUE(broker_.status().resting);
}

TEST_F(HungServer, IsReachedForNoLongerThanSomebodyWaits) {
  const auto reached = broker_.reach(20ms);
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().code, ErrorCode::timed_out);
}

}  // namespace
}  // namespace kiln::remote
