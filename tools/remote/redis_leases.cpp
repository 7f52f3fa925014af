#include "redis_leases.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::remote {
namespace {

using std::chrono::milliseconds;

/// The value of a lease that was given back by somebody who failed. No token has so few digits.
constexpr std::string_view failed_value = "failed";

// Each script compares and changes in one step. A lease may end between two commands, and somebody else take it.

constexpr std::string_view prolong_script = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2]))";

constexpr std::string_view delete_script = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1]))";

constexpr std::string_view fail_script = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1)";

/// Others may have put a lease there that lasts for ever, or for longer than any does.
constexpr milliseconds longest = 6 * Leases::lasting;

constexpr std::string_view replace_script = R"(
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1)";

std::string key_of(const std::string& name) { return "kiln:l:" + name; }

std::string text_of(milliseconds time) { return std::to_string(time.count()); }

class RedisLeases final : public Leases {
 public:
  explicit RedisLeases(std::shared_ptr<RedisConnection> connection) noexcept
      : connection_(std::move(connection)) {}

  Result<LeaseAnswer> take(const std::string& name, const std::string& token) override {
    const auto key = key_of(name);
    const auto replies = connection_->run_all(
        {{"SET", key, token, "NX", "PX", text_of(lasting)}, {"GET", key}, {"PTTL", key}},
        connection_->begin_call());
    if (!replies) return tl::unexpected(replies.error());
    const auto& set = *(*replies)[0];
    const auto& value = *(*replies)[1];
    const auto& left = *(*replies)[2];
    if (set.type == REDIS_REPLY_STATUS) return LeaseAnswer::taken;
    if (set.type != REDIS_REPLY_NIL) return connection_->unexpected_answer();
    // A lease that ended between the two commands has no value. The next take() gets it.
    if (value.type == REDIS_REPLY_NIL) return LeaseAnswer::held;
    if (value.type != REDIS_REPLY_STRING || left.type != REDIS_REPLY_INTEGER)
      return connection_->unexpected_answer();
    if (left.integer < 0 || left.integer > longest.count()) return replace(key, token);
    return std::string_view(value.str, value.len) == failed_value ? LeaseAnswer::failed
                                                                  : LeaseAnswer::held;
  }

  Result<bool> prolong(const std::string& name, const std::string& token) override {
    return run({"EVAL", prolong_script, "1", key_of(name), token, text_of(lasting)});
  }

  Outcome release(const std::string& name, const std::string& token, bool failed) override {
    const auto key = key_of(name);
    auto released =
        failed ? run({"EVAL", fail_script, "1", key, token, failed_value, text_of(telling_failure)})
               : run({"EVAL", delete_script, "1", key, token});
    if (!released) return tl::unexpected(std::move(released.error()));
    return {};
  }

 private:
  /// Takes one that is nobody's: what kiln makes ends soon.
  Result<LeaseAnswer> replace(const std::string& key, const std::string& token) {
    auto replaced =
        run({"EVAL", replace_script, "1", key, token, text_of(longest), text_of(lasting)});
    return replaced.map([](bool taken) { return taken ? LeaseAnswer::taken : LeaseAnswer::held; });
  }

  /// Whether the lease was still this token's.
  Result<bool> run(const RedisCommand& script) {
    const auto reply = connection_->run(script, connection_->begin_call());
    if (!reply) return tl::unexpected(reply.error());
    if ((*reply)->type != REDIS_REPLY_INTEGER) return connection_->unexpected_answer();
    return (*reply)->integer == 1;
  }

  const std::shared_ptr<RedisConnection> connection_;
};

}  // namespace

std::unique_ptr<Leases> redis_leases(std::shared_ptr<RedisConnection> connection) {
  return std::make_unique<RedisLeases>(std::move(connection));
}

}  // namespace kiln::remote
