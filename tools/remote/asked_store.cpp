#include "asked_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "signing/signature.h"

namespace kiln::remote {

namespace {

using namespace std::chrono_literals;

/// What comes along with the hints is no larger.
constexpr std::uint64_t most_near_bytes = std::uint64_t{1} << 20;

std::vector<WireHint> readable(std::vector<StoreHint> hints) {
  std::vector<WireHint> readable;
  for (auto& hint : hints) {
    if (hint.record) readable.push_back({std::move(hint.object), std::move(*hint.record)});
  }
  return readable;
}

// An object that is larger is asked for by itself.
Result<HintsAndObject> hints_and_object(Backend& backend, const Digest& request, std::size_t most) {
  if (backend.hints_and_object) return backend.hints_and_object(request, most, most_near_bytes);
  auto hints = backend.objects->hints(request, most);
  if (!hints) return tl::unexpected(std::move(hints.error()));
  HintsAndObject told{std::move(*hints)};
  const auto is_readable = [](const StoreHint& hint) { return hint.record.has_value(); };
  if (std::ranges::count_if(told.hints, is_readable) != 1) return told;
  const auto& only = *std::ranges::find_if(told.hints, is_readable);
  if (auto object = backend.objects->get(only.object, most_near_bytes))
    told.object = std::move(*object);
  return told;
}

template <class Question>
Broker::Budget budget_of(const Question& call) {
  return {std::chrono::microseconds(call.budget_us), call.hasty};
}

/// What a budget becomes while somebody waits.
class Deadline {
 public:
  explicit Deadline(std::uint64_t budget_us)
      : at_(Broker::Clock::now() + std::chrono::microseconds(budget_us)) {}

  [[nodiscard]] Broker::Clock::time_point at() const noexcept { return at_; }
  /// Whoever waits for another's answer has time left then for his own question, which another connection may answer.
  [[nodiscard]] Broker::Clock::time_point halfway() const {
    return Broker::Clock::now() + left() / 2;
  }
  [[nodiscard]] bool is_over() const { return at_ <= Broker::Clock::now(); }
  [[nodiscard]] std::chrono::microseconds left() const {
    const auto time = at_ - Broker::Clock::now();
    return std::max(std::chrono::duration_cast<std::chrono::microseconds>(time), 1us);
  }
  [[nodiscard]] std::uint64_t left_us() const { return static_cast<std::uint64_t>(left().count()); }

 private:
  Broker::Clock::time_point at_;
};

tl::unexpected<Error> waited_in_vain() {
  return fail(ErrorCode::timed_out, "the server takes longer than it may save");
}

// Who has time does not keep those waiting who have not: only their time counts against a server.
template <class Call>
std::string question_of(const std::string& what, const Call& call) {
  return what + (call.hasty ? " hastily" : "");
}

bool is_of_its_name(const std::string& name, const std::string& object) {
  std::string hash;
  for (const unsigned char byte : storage::hash_of(object)) hash += fmt::format("{:02x}", byte);
  return hash == name;
}

}  // namespace

// Who wants what is newer than the last look asks himself.
Result<Heard> Server::hints(const AskHints& call) {
  if (call.fresh) return ask_for_hints(call);
  if (auto known = heard_lately(call)) return std::move(*known);
  const Deadline deadline(call.budget_us);
  const auto asked = question_of(call.request.hex(), call);
  const auto turn = asked_once.take(asked, deadline.halfway(), deadline.at());
  if (auto known = heard_lately(call)) return std::move(*known);
  if (deadline.is_over()) return waited_in_vain();
  auto question = call;
  question.budget_us = deadline.left_us();
  auto heard = ask_for_hints(question);
  if (heard) asked_once.tell_heard(asked);
  return heard;
}

Result<Heard> Server::ask_for_hints(const AskHints& call) {
  ++asked;
  struct Told {
    Heard heard;
    std::size_t known;  ///< How many may be asked for of which these are all.
  };
  const auto keep_told = [this, request = call.request](const Result<Told>& told) {
    if (told) keep(request, told->heard, told->known);
  };
  const auto ask = [request = call.request, most = call.most,
                    with_object = call.with_object](Backend& backend) -> Result<Told> {
    auto told = with_object ? hints_and_object(backend, request, most)
                            : backend.objects->hints(request, most).map([](auto hints) {
                                return HintsAndObject{std::move(hints)};
                              });
    if (!told) return tl::unexpected(std::move(told.error()));
    const auto known = told->hints.size() < most ? Lately::any_number : most;
    Told all{{readable(std::move(told->hints))}, known};
    if (!all.heard.hints.empty()) all.heard.object = std::move(told->object);
    return all;
  };
  auto told = broker.ask<Told>(budget_of(call), ask, keep_told);
  keep_told(told);
  return std::move(told).map([](Told all) { return std::move(all.heard); });
}

std::optional<Heard> Server::heard_lately(const AskHints& call) {
  auto hints = lately.hints(call.request, call.most);
  if (!hints) return std::nullopt;
  Heard heard{std::move(*hints)};
  if (call.with_object && heard.hints.size() == 1)
    heard.object = object_lately(heard.hints[0].object, most_near_bytes);
  return heard;
}

void Server::keep(const Digest& request, const Heard& heard, std::size_t known) {
  lately.keep(request, heard.hints, known);
  if (heard.object) keep(heard.hints[0].object, *heard.object);
}

void Server::keep(const std::string& name, const std::string& object) {
  ++found;
  if (object.size() <= LargeRoom::most_without) lately.keep(name, object);
}

// What a server damaged once shall not be given for as long as this helper lives. Whoever asked first looks at it himself.
std::optional<std::string> Server::object_lately(const std::string& name,
                                                 std::uint64_t most_bytes) {
  auto object = lately.object(name, most_bytes);
  if (!object || is_of_its_name(name, *object)) return object;
  lately.forget_object(name);
  return std::nullopt;
}

// Only the server knows whether it is large.
Result<GivenObject> Server::object(const GetObject& call) {
  if (auto known = object_lately(call.name, call.most_bytes)) return GivenObject{std::move(known)};
  const Deadline deadline(call.budget_us);
  const auto asked = question_of(call.name, call);
  const auto turn = asked_once.take(asked, deadline.halfway(), deadline.at());
  if (auto known = object_lately(call.name, call.most_bytes)) return GivenObject{std::move(known)};
  if (deadline.is_over()) return waited_in_vain();
  auto question = call;
  question.budget_us = deadline.left_us();
  question.most_bytes = std::min(call.most_bytes, LargeRoom::most_without);
  auto object = ask_for_object(question, {});
  if (object) {
    asked_once.tell_heard(asked);
    return GivenObject{std::move(*object)};
  }
  const bool is_large =
      object.error().code == ErrorCode::too_large && question.most_bytes < call.most_bytes;
  if (!is_large) return tl::unexpected(std::move(object.error()));
  auto room = large_room.take(deadline.left());
  if (!room) return fail(ErrorCode::timed_out, "others are given large objects all the while");
  question.most_bytes = call.most_bytes;
  question.budget_us = deadline.left_us();
  object = ask_for_object(question, room);
  if (!object) return tl::unexpected(std::move(object.error()));
  return GivenObject{std::move(*object), std::move(room)};
}

// The room is taken for as long as the answer may still come.
Result<std::optional<std::string>> Server::ask_for_object(const GetObject& call,
                                                          const LargeRoom::Taken& room) {
  using Object = std::optional<std::string>;
  const auto keep_object = [this, name = call.name](const Result<Object>& object) {
    if (object && *object) keep(name, **object);
  };
  const auto ask = [name = call.name, most = call.most_bytes, room](Backend& backend) {
    return backend.objects->get(name, most);
  };
  auto object = broker.ask<Object>(budget_of(call), ask, keep_object);
  keep_object(object);
  return object;
}

Result<std::optional<std::string>> AskedStore::get(const std::string& name,
                                                   std::uint64_t most_bytes) {
  auto object = server_.object({.name = name,
                                .most_bytes = most_bytes,
                                .budget_us = static_cast<std::uint64_t>(patience_.count()),
                                .hasty = false});
  return std::move(object).map([](GivenObject given) { return std::move(given.bytes); });
}

Result<bool> AskedStore::put(const std::string& name, std::string_view bytes) {
  return server_.broker.ask<bool>(writing(), [name, object = std::string(bytes)](Backend& backend) {
    return backend.objects->put(name, object);
  });
}

Result<std::vector<StoreHint>> AskedStore::hints(const Digest& request, std::size_t most) {
  auto told = server_.hints({.request = request,
                             .most = most,
                             .budget_us = static_cast<std::uint64_t>(patience_.count()),
                             .hasty = false});
  if (!told) return tl::unexpected(std::move(told.error()));
  std::vector<StoreHint> hints;
  for (auto& hint : told->hints) hints.push_back({std::move(hint.object), std::move(hint.record)});
  return hints;
}

Outcome AskedStore::add_hint(const Digest& request, const std::string& name,
                             std::string_view hint) {
  auto added = server_.broker.ask<bool>(
      writing(), [request, name, record = std::string(hint)](Backend& backend) -> Result<bool> {
        auto added = backend.objects->add_hint(request, name, record);
        if (!added) return tl::unexpected(std::move(added.error()));
        return true;
      });
  server_.lately.forget(request);
  if (!added) return tl::unexpected(std::move(added.error()));
  return {};
}

Result<std::vector<Digest>> AskedStore::requests() {
  return server_.broker.ask<std::vector<Digest>>(
      patience(), [](Backend& backend) { return backend.objects->requests(); });
}

Result<GcReport> AskedStore::collect(const GcOptions& options) {
  return server_.broker.ask<GcReport>(
      patience(), [options](Backend& backend) { return backend.objects->collect(options); });
}

}  // namespace kiln::remote
