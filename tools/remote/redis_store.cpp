#include "redis_store.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/exchange.h"
#include "redis_connection.h"
#include "redis_leases.h"

namespace kiln::remote {
namespace {

constexpr std::string_view begin_of_requests = "kiln:r:";
constexpr std::string_view begin_of_objects = "kiln:o:";

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
/// No value of a Redis server is larger, unless it was told so.
constexpr std::uint64_t most_object_bytes = 512 * mebi;
constexpr std::uint64_t most_hint_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t most_bytes_of_hints = 4 * mebi;
constexpr std::size_t most_hints = 1'000;
constexpr std::size_t most_requests = 1'000'000;
/// Room for what the protocol adds, also to a thousand hints.
constexpr std::uint64_t room_for_protocol = RedisConnection::most_bytes_of_small_answers;

constexpr std::string_view keys_of_a_step = "1000";
constexpr std::uint64_t most_bytes_of_a_step = 16 * mebi;
/// A search of all keys is many calls to the server, and may take so much longer than one.
constexpr int timeouts_of_a_search = 30;

/// Names and hints by turns, and behind the only hint its object, in one round trip. Hints that are gone count for nothing: the
/// server may have removed those of the latest objects, too. ARGV: how hints' keys begin; how many hints at most; one hint's last
/// byte; how many bytes at most; the list's last index; how objects' keys begin; how many bytes an object may have, 0 for none.
constexpr std::string_view hints_script = R"(
local answer, bytes = {}, 0
for _, name in ipairs(redis.call('LRANGE', KEYS[1], 0, ARGV[5])) do
  if #answer >= 2 * tonumber(ARGV[2]) then break end
  local key = ARGV[1] .. name
  local hint = redis.call('GETRANGE', key, 0, ARGV[3])
  if hint ~= '' or redis.call('EXISTS', key) == 1 then
    bytes = bytes + #name + #hint
    if bytes > tonumber(ARGV[4]) then break end
    answer[#answer + 1] = name
    answer[#answer + 1] = hint
  end
end
local most = tonumber(ARGV[7])
if #answer == 2 and most > 0 then
  local object = redis.pcall('GETRANGE', ARGV[6] .. answer[1], 0, most)
  if type(object) == 'string' and object ~= '' and #object <= most then answer[3] = object end
end
return answer)";

std::string object_key(const std::string& name) {
  return fmt::format("{}{}", begin_of_objects, name);
}

std::string request_key(const Digest& request) {
  return fmt::format("{}{}", begin_of_requests, request.hex());
}

std::string begin_of_hints(const Digest& request) {
  return fmt::format("kiln:h:{}:", request.hex());
}

bool is_array(const redisReply& reply, std::size_t elements) noexcept {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements == elements;
}

bool are_strings(const redisReply& reply) noexcept {
  return reply.type == REDIS_REPLY_ARRAY &&
         std::all_of(reply.element, reply.element + reply.elements,
                     [](const redisReply* each) { return each->type == REDIS_REPLY_STRING; });
}

std::string_view text_of(const redisReply& reply) noexcept { return {reply.str, reply.len}; }

bool is_name(std::string_view text) noexcept {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

class RedisStore final : public ObjectStore {
 public:
  explicit RedisStore(std::shared_ptr<RedisConnection> connection)
      : ObjectStore(TrustedKeys()), connection_(std::move(connection)) {}

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    const auto most = std::min(most_bytes, most_object_bytes);
    const auto reply = read(object_key(name), most, connection_->begin_call());
    if (!reply) return tl::unexpected(reply.error());
    const auto bytes = text_of(**reply);
    if (bytes.size() > most) return too_large("object", name, most);
    // No object is empty: this is how GETRANGE says that there is none.
    if (bytes.empty()) return std::optional<std::string>();
    return std::optional<std::string>(bytes);
  }

  Result<bool> put(const std::string& name, std::string_view bytes) override {
    const auto key = object_key(name);
    const auto call = connection_->begin_call();
    auto added = set({"SET", key, bytes, "NX"}, call);
    if (!added || *added) return added;
    const auto there = read(key, bytes.size(), call);
    if (!there) return tl::unexpected(there.error());
    if (text_of(**there) == bytes) return false;
    return set({"SET", key, bytes}, call);
  }

  Result<std::vector<StoreHint>> hints(const Digest& request, std::size_t most) override {
    return hints_and_object(request, most, 0).map([](HintsAndObject told) {
      return std::move(told.hints);
    });
  }

  Result<HintsAndObject> hints_and_object(const Digest& request, std::size_t most,
                                          std::uint64_t most_bytes) {
    const auto begin = begin_of_hints(request);
    const auto reply = connection_->run(
        {"EVAL", hints_script, "1", request_key(request), begin,
         std::to_string(std::min(most, most_hints)), std::to_string(most_hint_bytes),
         std::to_string(most_bytes_of_hints), std::to_string(most_hints - 1), begin_of_objects,
         std::to_string(most_bytes)},
        connection_->begin_call(most_bytes_of_hints + most_bytes + room_for_protocol));
    if (!reply) return tl::unexpected(reply.error());
    const bool has_object = most_bytes != 0 && (*reply)->elements == 3;
    if (!are_strings(**reply) || ((*reply)->elements % 2 != 0 && !has_object))
      return connection_->unexpected_answer();
    HintsAndObject told;
    for (std::size_t at = 0; at + 1 < (*reply)->elements; at += 2) {
      const auto name = text_of(*(*reply)->element[at]);
      if (!is_name(name)) continue;
      told.hints.push_back({.object = std::string(name),
                            .record = record_of(name, text_of(*(*reply)->element[at + 1]))});
    }
    if (has_object && !told.hints.empty()) told.object = text_of(*(*reply)->element[2]);
    return told;
  }

  Outcome add_hint(const Digest& request, const std::string& name, std::string_view hint) override {
    const auto list = request_key(request);
    const auto replies = connection_->run_all({{"MULTI"},
                                               {"SET", begin_of_hints(request) + name, hint},
                                               {"LREM", list, "0", name},
                                               {"LPUSH", list, name},
                                               {"LTRIM", list, "0", std::to_string(most_hints - 1)},
                                               {"EXEC"}},
                                              connection_->begin_call());
    if (!replies) return tl::unexpected(replies.error());
    if (!is_array(*replies->back(), 4)) return connection_->unexpected_answer();
    return {};
  }

  Result<std::vector<Digest>> requests() override {
    // A table of hashes would be slow with requests that a server has made up to share one.
    std::set<Digest> found;
    const auto end =
        std::chrono::steady_clock::now() + timeouts_of_a_search * connection_->address().timeout;
    std::string cursor = "0";
    do {
      if (std::chrono::steady_clock::now() > end) return search_took_too_long();
      auto next = search_step(cursor, found);
      if (!next) return tl::unexpected(std::move(next.error()));
      if (found.size() > most_requests) return too_many_requests();
      cursor = std::move(*next);
    } while (cursor != "0");
    return std::vector<Digest>(found.begin(), found.end());
  }

  Result<GcReport> collect(const GcOptions&) override {
    return fail(ErrorCode::invalid_argument,
                fmt::format("kiln removes nothing from the Redis server {}, which does that by its "
                            "own settings; set its maxmemory, and its maxmemory-policy to "
                            "allkeys-lru",
                            shown()));
  }

 private:
  /// A string of one byte more than `most`, where there are more.
  [[nodiscard]] Result<RedisReply> read(const std::string& key, std::uint64_t most,
                                        RedisBounds call) {
    call.most_bytes = most + room_for_protocol;
    auto reply = connection_->run({"GETRANGE", key, "0", std::to_string(most)}, call);
    if (reply && (*reply)->type != REDIS_REPLY_STRING) return connection_->unexpected_answer();
    return reply;
  }

  /// Whether it was set.
  [[nodiscard]] Result<bool> set(const RedisCommand& command, const RedisBounds& call) {
    const auto reply = connection_->run(command, call);
    if (!reply) return tl::unexpected(reply.error());
    if ((*reply)->type == REDIS_REPLY_STATUS) return true;
    if ((*reply)->type == REDIS_REPLY_NIL) return false;
    return connection_->unexpected_answer();
  }

  /// Gives the next cursor.
  [[nodiscard]] Result<std::string> search_step(const std::string& cursor,
                                                std::set<Digest>& found) {
    const auto reply = connection_->run(
        {"SCAN", cursor, "MATCH", fmt::format("{}*", begin_of_requests), "COUNT", keys_of_a_step},
        connection_->begin_call(most_bytes_of_a_step));
    if (!reply) return tl::unexpected(reply.error());
    const bool expected = is_array(**reply, 2) &&
                          (*reply)->element[0]->type == REDIS_REPLY_STRING &&
                          are_strings(*(*reply)->element[1]);
    if (!expected) return connection_->unexpected_answer();
    const auto& keys = *(*reply)->element[1];
    for (std::size_t at = 0; at < keys.elements; ++at) {
      auto key = text_of(*keys.element[at]);
      key.remove_prefix(std::min(key.size(), begin_of_requests.size()));
      if (const auto request = Digest::from_hex(key)) found.insert(*request);
    }
    return std::string(text_of(*(*reply)->element[0]));
  }

  [[nodiscard]] Result<std::string> record_of(std::string_view name, std::string_view hint) const {
    if (hint.size() > most_hint_bytes) return too_large("hint", name, most_hint_bytes);
    return std::string(hint);
  }

  [[nodiscard]] tl::unexpected<Error> too_large(std::string_view what, std::string_view name,
                                                std::uint64_t most) const {
    return fail(ErrorCode::too_large,
                fmt::format("the {} {} on the Redis server {} has more than the {} bytes that it "
                            "may have; delete its key there",
                            what, name, shown(), most));
  }

  [[nodiscard]] tl::unexpected<Error> too_many_requests() const {
    return fail(ErrorCode::too_large,
                fmt::format("the Redis server {} has keys {}* of more than {} requests; delete "
                            "them, or pull what answers single requests",
                            shown(), begin_of_requests, most_requests));
  }

  [[nodiscard]] tl::unexpected<Error> search_took_too_long() const {
    return connection_->failure(
        fmt::format("did not list all its keys within {} ms",
                    timeouts_of_a_search * connection_->address().timeout.count()),
        "add a longer '?timeout=MILLISECONDS' to its address, or give kiln a database of its own "
        "there");
  }

  [[nodiscard]] std::string shown() const { return connection_->address().shown(); }

  const std::shared_ptr<RedisConnection> connection_;
};

}  // namespace

Result<Backend> open_redis(const RemoteAddress& address) {
  auto connection = RedisConnection::make(address);
  if (!connection) return tl::unexpected(std::move(connection.error()));
  auto store = std::make_unique<RedisStore>(*connection);
  auto hints_and_object = [store = store.get()](const Digest& request, std::size_t most,
                                                std::uint64_t most_bytes) {
    return store->hints_and_object(request, most, most_bytes);
  };
  return Backend{.objects = std::move(store),
                 .leases = redis_leases(*connection),
                 .hints_and_object = std::move(hints_and_object)};
}

}  // namespace kiln::remote
