#include "prefetch.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "directives.h"

namespace kiln {

namespace {

// One that is compiled, and one that waits so that the worker need not.
constexpr std::size_t items_per_worker = 2;

// Who has which stretch of the order.
class Stretches {
 public:
  Stretches(std::size_t items, std::size_t workers) {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      stretches_.push_back({items * worker / workers, items * (worker + 1) / workers});
    }
  }

  std::optional<std::size_t> next(std::size_t worker) {
    auto& own = stretches_[worker];
    if (own.begin == own.end) take_half_of_the_longest(own);
    if (own.begin == own.end) return std::nullopt;
    return own.begin++;
  }

 private:
  struct Stretch {
    std::size_t begin;
    std::size_t end;
    [[nodiscard]] std::size_t length() const { return end - begin; }
  };

  void take_half_of_the_longest(Stretch& own) {
    auto& longest =
        *std::max_element(stretches_.begin(), stretches_.end(),
                          [](const auto& a, const auto& b) { return a.length() < b.length(); });
    const auto middle = longest.begin + longest.length() / 2;
    own = {middle, longest.end};
    longest.end = middle;
  }

  std::vector<Stretch> stretches_;
};

// Shared with what is on its way, which rings it from any thread.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    heard_.notify_all();
  }

  void wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    heard_.wait(lock, stop, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any heard_;
  bool rung_ = false;
};

class Prefetch {
 public:
  Prefetch(const std::vector<PrefetchItem>& items, std::size_t workers, const BeginItem& begin,
           const PrefetchProgress& progress)
      : items_(items),
        begin_(begin),
        progress_(progress),
        order_(in_groups(items)),
        stretches_(items.size(), workers),
        loads_(workers) {}

  PrefetchReport run(const std::stop_token& stop) {
    for (;;) {
      if (stop.stop_requested()) give_up();
      account_for_the_ready();
      if (!stop.stop_requested()) begin_what_fits(stop);
      if (under_way_.empty()) break;
      bell_->wait(stop);
    }
    report_the_rest();
    std::sort(report_.failures.begin(), report_.failures.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    return std::move(report_);
  }

 private:
  struct UnderWay {
    std::size_t index;
    std::size_t worker;
    Compiling compiling;
  };

  // In turn, so that what each worker compiles next waits in the queue before what it compiles later.
  void begin_what_fits(const std::stop_token& stop) {
    for (std::size_t load = 0; load < items_per_worker; ++load) {
      for (std::size_t worker = 0; worker < loads_.size(); ++worker) {
        while (loads_[worker] <= load && !stop.stop_requested() && begin_next(worker)) {
        }
      }
    }
  }

  bool begin_next(std::size_t worker) {
    const auto place = stretches_.next(worker);
    if (!place) return false;
    const auto index = order_[*place];
    auto compiling = begin_(items_[index], [bell = bell_] { bell->ring(); });
    if (compiling.ready()) {
      account(index, compiling.get());
    } else {
      ++loads_[worker];
      under_way_.push_back({index, worker, std::move(compiling)});
    }
    return true;
  }

  void account_for_the_ready() {
    for (auto at = under_way_.begin(); at != under_way_.end();) {
      if (!at->compiling.ready()) {
        ++at;
        continue;
      }
      --loads_[at->worker];
      account(at->index, at->compiling.get());
      at = under_way_.erase(at);
    }
  }

  void give_up() {
    for (const auto& one : under_way_) one.compiling.cancel();
  }

  void report_the_rest() {
    for (std::size_t worker = 0; worker < loads_.size(); ++worker) {
      while (const auto place = stretches_.next(worker)) {
        account(order_[*place], fail(ErrorCode::cancelled, "the prefetch was cancelled"));
      }
    }
  }

  void account(std::size_t index, const Result<Artifact>& outcome) {
    if (outcome) {
      ++(outcome->origin == Origin::compiled ? report_.compiled : report_.hits);
    } else {
      report_.failures.push_back({index, outcome.error()});
    }
    ++done_;
    if (!progress_) return;
    try {
      progress_({index, outcome, done_, items_.size()});
    } catch (...) {  // NOLINT(bugprone-empty-catch): as with an observer, it goes no further.
    }
  }

  const std::vector<PrefetchItem>& items_;
  const BeginItem& begin_;
  const PrefetchProgress& progress_;
  const std::vector<std::size_t> order_;
  Stretches stretches_;
  std::vector<std::size_t> loads_;  ///< Of each worker: how many items are under way.
  std::list<UnderWay> under_way_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::size_t done_ = 0;
  PrefetchReport report_;
};

}  // namespace

Digest beginning_of(const Program& program, const Target& target) {
  std::string text = target.arch();
  const auto add = [&text](std::string_view field) { text.append(1, '\0').append(field); };
  add(to_string(target.kind()));
  for (const auto& option : program.options()) add(option);
  const std::string_view source = program.source();
  add(source.substr(0, read_directives(source).prelude));
  return digest_of(text);
}

std::set<Digest> repeated_beginnings(const std::vector<PrefetchItem>& items) {
  std::set<Digest> once;
  std::set<Digest> repeated;
  for (const auto& item : items) {
    const auto beginning = beginning_of(item.program, item.target);
    if (!once.insert(beginning).second) repeated.insert(beginning);
  }
  return repeated;
}

std::vector<std::size_t> in_groups(const std::vector<PrefetchItem>& items) {
  std::map<Digest, std::size_t> firsts;
  std::vector<std::size_t> groups;
  for (std::size_t index = 0; index < items.size(); ++index) {
    groups.push_back(firsts.emplace(beginning_of(items[index].program, items[index].target), index)
                         .first->second);
  }
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a] < groups[b]; });
  return order;
}

PrefetchReport prefetch_all(const std::vector<PrefetchItem>& items, std::size_t workers,
                            const BeginItem& begin, const PrefetchProgress& progress,
                            const std::stop_token& stop) {
  return Prefetch(items, workers, begin, progress).run(stop);
}

}  // namespace kiln
