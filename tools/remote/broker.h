#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "backend.h"
#include "breaker.h"
#include "kiln/error.h"
#include "kiln/remote.h"

namespace kiln::remote {

/// Asks one server for many: on a few connections, each on a thread of its own, so that whoever asks waits no longer than he wants
/// to; and not at all while the server is left alone. Safe to use from any thread. It is never destroyed: a thread of its may wait
/// for a filesystem for ever.
class Broker {
 public:
  using Clock = Breaker::Clock;
  /// Makes a connection; where somebody is to write, to a folder that is made if there is none.
  using Open = std::function<Result<Backend>(bool writes)>;

  /// There are so many connections at most.
  Broker(Open open, std::size_t most_connections);
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  /// How long somebody waits; whether the time counts that a server keeps him waiting for, as it does where he could do without the
  /// answer.
  struct Budget {
    std::chrono::microseconds time;
    bool counts = true;
    bool insists = false;  ///< Whether a server is asked that is left alone.
    bool writes = false;
  };

  /// The answer to `work`. Errors: its own; timed_out, where that takes longer than the budget, and the answer then goes to
  /// `late`; cache_unusable, while the server is left alone.
  template <class Answer>
  [[nodiscard]] Result<Answer> ask(Budget budget, std::function<Result<Answer>(Backend&)> work,
                                   std::function<void(const Result<Answer>&)> late = {}) {
    struct Asked {
      std::optional<Result<Answer>> answer;
      bool abandoned = false;
    };
    const auto asked = std::make_shared<Asked>();
    const auto job = std::make_shared<Job>();
    job->counts = budget.counts;
    job->writes = budget.writes;
    job->run = [this, asked, work = std::move(work),
                late = std::move(late)](const Result<Backend*>& backend) {
      auto answer = backend ? work(**backend) : Result<Answer>(tl::unexpected(backend.error()));
      auto failure = failure_of(answer);
      {
        const std::lock_guard lock(mutex_);
        asked->answer = std::move(answer);
        if (!asked->abandoned) return failure;
        ++status_.slow;
      }
      // Nobody else looks at it any more, and others are not to wait for what is done with it.
      if (late) late(*asked->answer);
      return failure;
    };
    std::unique_lock lock(mutex_);
    if (auto resting = why_resting(budget)) return tl::unexpected(std::move(*resting));
    add(job);
    wait(lock, budget, [&] { return asked->answer.has_value(); });
    if (asked->answer) return std::move(*asked->answer);
    asked->abandoned = true;
    if (auto resting = why_resting(budget)) return tl::unexpected(std::move(*resting));
    return fail(ErrorCode::timed_out, "the server takes longer than it may save");
  }

  /// Asks the server something, whatever it is left alone for, and waits for so long at most. Errors: those of
  /// ObjectStore::hints(); timed_out.
  [[nodiscard]] Outcome reach(std::chrono::milliseconds most_wait);

  [[nodiscard]] RemoteStatus status();

 private:
  struct Job {
    /// Is given a connection, or why there is none. Gives how the server failed, if it did.
    std::function<std::optional<std::string>(const Result<Backend*>& backend)> run;
    bool counts = true;
    bool writes = false;
    unsigned era = 0;  ///< The breaker's, where it counts.
  };

  template <class Answer>
  [[nodiscard]] static std::optional<std::string> failure_of(
      const tl::expected<Answer, Error>& answer) {
    return answer ? std::nullopt : failure_in(answer.error());
  }
  [[nodiscard]] static std::optional<std::string> failure_in(const Error& error);

  [[nodiscard]] std::optional<Error> why_resting(const Budget& budget) const;
  void add(std::shared_ptr<Job> job);
  void wait(std::unique_lock<std::mutex>& lock, const Budget& budget,
            const std::function<bool()>& done);
  void work();
  void probe();
  [[nodiscard]] std::optional<std::string> run(const Job& job,
                                               std::optional<Backend>& backend) const;
  void probe_now(std::unique_lock<std::mutex>& lock, std::optional<Backend>& backend);

  const Open open_;
  const std::size_t most_connections_;
  std::mutex mutex_;
  std::condition_variable work_to_do_;
  std::condition_variable something_done_;
  std::condition_variable probe_due_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  Breaker breaker_;
  RemoteStatus status_;
  bool reach_ = false;
  Outcome reached_;  ///< How the last probe went.
};

}  // namespace kiln::remote
