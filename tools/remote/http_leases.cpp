#include "http_leases.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lease_beat.h"

namespace kiln::remote {

namespace {

using std::chrono::steady_clock;

std::string lease_path(const std::string& name) { return fmt::format("l/{}/", name); }
std::string beat_path(const std::string& name) { return lease_path(name) + "beat"; }

/// A server says so who does not know MKCOL, or does not let this user make anything.
bool is_for_good(const Error& error) {
  return error.vendor_code == 400 || error.vendor_code == 403 || error.vendor_code == 405 ||
         error.vendor_code == 501;
}

}  // namespace

Result<LeaseAnswer> HttpLeases::take(const std::string& name, const std::string& token) {
  if (unable_) return tl::unexpected(*unable_);
  client_->begin_call();
  // Whoever waits for it knows that it is there, and has to see only whether it still is.
  if (seen_.contains(name)) {
    auto beat = beat_of(name);
    if (!beat || !beat->empty()) return judge(name, token, std::move(beat));
  }
  const auto made = make(lease_path(name), token);
  if (!made) return tl::unexpected(made.error());
  return *made ? hold(name, token) : judge(name, token, beat_of(name));
}

Result<bool> HttpLeases::prolong(const std::string& name, const std::string& token) {
  client_->begin_call();
  const auto text = beat_of(name);
  if (!text) return tl::unexpected(text.error());
  auto beat = decode_beat(*text);
  if (!beat.is_held_by(token)) return false;
  ++beat.count;
  if (auto sent = client_->put(beat_path(name), encode_beat(beat)); !sent)
    return tl::unexpected(std::move(sent.error()));
  return true;
}

Outcome HttpLeases::release(const std::string& name, const std::string& token, bool failed) {
  client_->begin_call();
  const auto text = beat_of(name);
  if (!text) return tl::unexpected(text.error());
  auto beat = decode_beat(*text);
  if (!beat.is_held_by(token)) return {};
  if (failed) {
    beat.state = LeaseBeat::State::failed;
    return client_->put(beat_path(name), encode_beat(beat));
  }
  // In S3 these are two objects, of which the first must not outlive the second: nobody would have it.
  if (auto removed = client_->remove(beat_path(name)); !removed) return removed;
  return client_->remove(lease_path(name));
}

/// Empty where there is none, as between the making of a lease and its first beat.
Result<std::string> HttpLeases::beat_of(const std::string& name) {
  auto text = client_->get(beat_path(name), most_beat_bytes);
  if (!text) return tl::unexpected(std::move(text.error()));
  return std::move(*text).value_or("");
}

Result<LeaseAnswer> HttpLeases::judge(const std::string& name, const std::string& token,
                                      Result<std::string> said) {
  if (!said) return tl::unexpected(std::move(said.error()));
  auto& seen = see(name, std::move(*said));
  const auto beat = decode_beat(seen.beat);
  const bool has_failed = beat.state == LeaseBeat::State::failed;
  const auto answer = has_failed ? LeaseAnswer::failed : LeaseAnswer::held;
  if (steady_clock::now() - seen.since < (has_failed ? tells_failure_ : lasts_)) return answer;
  const auto claim = fmt::format("{}{}-{}/", lease_path(name),
                                 beat.token.empty() ? "none" : beat.token, seen.claims);
  const auto made = make(claim, token);
  if (!made) return tl::unexpected(made.error());
  if (*made) return hold(name, token);
  // Somebody else was first. He has as long as anybody to show that he lives.
  seen.since = steady_clock::now();
  ++seen.claims;
  return LeaseAnswer::held;
}

Result<LeaseAnswer> HttpLeases::hold(const std::string& name, const std::string& token) {
  seen_.erase(name);
  if (auto sent = client_->put(beat_path(name), encode_beat({.token = token})); !sent)
    return tl::unexpected(std::move(sent.error()));
  return LeaseAnswer::taken;
}

HttpLeases::Seen& HttpLeases::see(const std::string& name, std::string beat) {
  const auto now = steady_clock::now();
  if (const auto at = seen_.find(name); at != seen_.end()) {
    if (at->second.beat != beat) at->second = {.beat = std::move(beat), .since = now};
    return at->second;
  }
  if (seen_.size() == most_seen) {
    seen_.erase(
        std::ranges::min_element(seen_, {}, [](const auto& each) { return each.second.since; }));
  }
  return seen_[name] = {.beat = std::move(beat), .since = now};
}

Result<bool> HttpLeases::make(const std::string& path, const std::string& token) {
  auto made = client_->make(path);
  // A server that does not know MKCOL says of it what others say of a thing that is there; one that does not know
  // If-None-Match, what others say of a thing that was made.
  const bool is_proof = made && *made != client_->is_s3();
  if (made && !is_proof && !is_proven_) {
    if (auto proven = prove(token); !proven) made = tl::unexpected(std::move(proven.error()));
  }
  if (made)
    is_proven_ = true;
  else if (is_for_good(made.error()))
    unable_ = made.error();
  return made;
}

/// That the server makes what is not there, and only that.
Outcome HttpLeases::prove(const std::string& token) {
  const auto path = fmt::format("l/probe-{}/", token);
  const auto first = client_->make(path);
  if (!first) return tl::unexpected(first.error());
  const auto second = *first ? client_->make(path) : first;
  if (!second) return tl::unexpected(second.error());
  if (*first && !*second) return client_->remove(path);
  constexpr int not_implemented = 501;
  return fail(
      ErrorCode::io_failed,
      fmt::format("{} cannot give leases, so machines do not wait for each other's compiles; "
                  "{}",
                  client_->server().shown,
                  client_->is_s3() ? "it would have to heed If-None-Match for PUT"
                                   : "allow MKCOL there (nginx: dav_methods)"),
      {}, not_implemented);
}

}  // namespace kiln::remote
