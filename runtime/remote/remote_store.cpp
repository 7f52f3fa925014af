#include "remote/remote_store.h"

#include <algorithm>
#include <utility>

namespace kiln::remote {

using namespace std::chrono_literals;

namespace {

/// The helper answers that it was too slow; whoever waits for it waits a little longer than it may take.
constexpr auto grace = 20ms;

}  // namespace

RemoteStore::RemoteStore(std::shared_ptr<HelperConnections> helper, TrustedKeys keys, Haste haste)
    : ObjectStore(std::move(keys)),
      helper_(std::move(helper)),
      patience_(haste.budget),
      end_(Clock::now() + haste.budget),
      fresh_(haste.fresh) {}

void RemoteStore::hurry(std::chrono::microseconds most) {
  const auto end = Clock::now() + most;
  end_ = end_ ? std::min(*end_, end) : end;
}

std::chrono::microseconds RemoteStore::left() const {
  if (!end_) return patience_;
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(*end_ - Clock::now());
  return std::max<std::chrono::microseconds>(left, 1us);
}

template <class Question>
Result<typename Question::Reply> RemoteStore::ask(Question question) {
  const auto budget = left();
  if constexpr (requires { question.hasty; }) {
    question.budget_us = static_cast<std::uint64_t>(budget.count());
    question.hasty = end_.has_value();
  }
  return helper_->ask(question, budget + grace);
}

Result<std::optional<std::string>> RemoteStore::get(const std::string& name,
                                                    std::uint64_t most_bytes) {
  if (near_ && name == near_name_ && near_->size() <= most_bytes)
    return std::exchange(near_, std::nullopt);
  return ask(GetObject{.name = name, .most_bytes = most_bytes});
}

Result<bool> RemoteStore::put(const std::string& name, std::string_view bytes) {
  return ask(PutObject{name, std::string(bytes)});
}

Result<std::vector<StoreHint>> RemoteStore::hints(const Digest& request, std::size_t most) {
  // Who looks again and again does not want each time what did not serve him.
  auto told =
      ask(AskHints{.request = request, .most = most, .fresh = fresh_, .with_object = !fresh_});
  if (!told) return tl::unexpected(std::move(told.error()));
  near_ = std::move(told->object);
  if (near_ && !told->hints.empty()) near_name_ = told->hints.front().object;
  std::vector<StoreHint> hints;
  hints.reserve(told->hints.size());
  for (auto& hint : told->hints) hints.push_back({std::move(hint.object), std::move(hint.record)});
  return hints;
}

Outcome RemoteStore::add_hint(const Digest& request, const std::string& name,
                              std::string_view hint) {
  auto added = ask(AddHint{request, name, std::string(hint)});
  if (!added) return tl::unexpected(std::move(added.error()));
  return {};
}

Result<std::vector<Digest>> RemoteStore::requests() { return ask(ListRequests()); }

Result<GcReport> RemoteStore::collect(const GcOptions& /*options*/) {
  return fail(ErrorCode::invalid_argument,
              "only a store in a folder is collected by kiln: a server removes by its own rules");
}

}  // namespace kiln::remote
