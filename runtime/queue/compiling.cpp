#include "kiln/compiling.h"

#include <utility>

#include "queue/compiling_state.h"

namespace kiln {

Compiling::State::State(std::function<void()> when_ready) : when_ready_(std::move(when_ready)) {}

bool Compiling::State::settle(Result<ServedArtifact> outcome) {
  {
    const std::lock_guard lock(mutex_);
    if (outcome_) return false;
    outcome_.emplace(std::move(outcome));
    settled_.notify_all();
  }
  if (when_ready_) when_ready_();
  return true;
}

void Compiling::State::complete(Result<ServedArtifact> outcome) { settle(std::move(outcome)); }

void Compiling::State::cancel() {
  if (settle(fail(ErrorCode::cancelled, "the compile was cancelled")) && when_cancelled_) {
    when_cancelled_();
  }
}

void Compiling::State::set_when_cancelled(std::function<void()> when_cancelled) {
  when_cancelled_ = std::move(when_cancelled);
}

bool Compiling::State::ready() const {
  const std::lock_guard lock(mutex_);
  return outcome_.has_value();
}

bool Compiling::State::succeeded() const {
  const std::lock_guard lock(mutex_);
  return outcome_ && outcome_->has_value();
}

bool Compiling::State::wait_for(std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  return settled_.wait_for(lock, time, [this] { return outcome_.has_value(); });
}

Result<Artifact> Compiling::State::get() const {
  {
    std::unique_lock lock(mutex_);
    settled_.wait(lock, [this] { return outcome_.has_value(); });
  }
  // It changes no more.
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
