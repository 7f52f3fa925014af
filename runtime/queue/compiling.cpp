#include "kiln/compiling.h"

#include <utility>

#include <fmt/format.h>

#include "queue/compiling_state.h"
#include "system/process_id.h"

namespace kiln {

namespace {

tl::unexpected<Error> cancelled(const char* why) {
  return fail(ErrorCode::cancelled, fmt::format("the compile was cancelled{}", why));
}

}  // namespace

Compiling::State::State(std::function<void()> when_ready)
    : when_ready_(std::move(when_ready)), process_(system::process_id()) {}

Compiling::State::~State() {
  // What a parent's threads wait for cannot be destroyed in a child.
  if (is_of_parent()) static_cast<void>(waiting_.release());
}

bool Compiling::State::is_of_parent() const noexcept { return process_ != system::process_id(); }

bool Compiling::State::settle(Result<ServedArtifact> outcome) {
  {
    const std::lock_guard lock(waiting_->mutex);
    if (outcome_) return false;
    outcome_.emplace(std::move(outcome));
    has_outcome_ = true;
    waiting_->settled.notify_all();
  }
  if (when_ready_) when_ready_();
  return true;
}

void Compiling::State::complete(Result<ServedArtifact> outcome) { settle(std::move(outcome)); }

void Compiling::State::cancel() {
  if (is_of_parent()) return;
  if (settle(cancelled("")) && when_cancelled_) when_cancelled_();
}

void Compiling::State::set_when_cancelled(std::function<void()> when_cancelled) {
  when_cancelled_ = std::move(when_cancelled);
}

bool Compiling::State::ready() const { return has_outcome_ || is_of_parent(); }

bool Compiling::State::succeeded() const { return has_outcome_ && outcome_->has_value(); }

bool Compiling::State::wait_for(std::chrono::milliseconds time) const {
  if (ready()) return true;
  std::unique_lock lock(waiting_->mutex);
  return waiting_->settled.wait_for(lock, time, [this] { return outcome_.has_value(); });
}

Result<Artifact> Compiling::State::get() const {
  if (!has_outcome_) {
    if (is_of_parent()) return cancelled(": it was this process's parent's");
    std::unique_lock lock(waiting_->mutex);
    waiting_->settled.wait(lock, [this] { return outcome_.has_value(); });
  }
  const auto& outcome = *outcome_;
  if (!outcome) return tl::unexpected(outcome.error());
  Artifact artifact = *outcome->artifact;
  artifact.origin = outcome->origin;
  return artifact;
}

Compiling::Compiling(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

bool Compiling::ready() const { return state_->ready(); }
bool Compiling::succeeded() const { return state_->succeeded(); }
bool Compiling::wait_for(std::chrono::milliseconds time) const { return state_->wait_for(time); }
Result<Artifact> Compiling::get() const { return state_->get(); }
void Compiling::cancel() const { state_->cancel(); }

}  // namespace kiln
