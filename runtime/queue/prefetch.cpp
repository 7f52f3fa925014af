#include "queue/prefetch.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "source/directives.h"

namespace kiln {

namespace {

// How many times as much a program costs whose first headers must be read as one that finds them precompiled: 6 to 9
// for CUB's (NVRTC 13.0).
constexpr std::size_t cost_of_reading = 8;

// What an item is likely to cost.
struct Cost {
  std::size_t first;  ///< As the first of its group that a worker has.
  std::size_t next;   ///< After the item before it.
  bool begins_group;
};

// What an item begins with.
struct Prelude {
  Digest text;  ///< As of prelude_text_of().
  bool empty;
};

// Scans each source once.
std::vector<Prelude> preludes_of(const std::vector<PrefetchItem>& items) {
  std::map<Digest, Directives> scanned;
  std::vector<Prelude> preludes;
  preludes.reserve(items.size());
  for (const auto& [asked, target] : items) {
    const auto choice = asked.for_target(target);
    const auto& program = choice.program();
    if (!program.has_source()) {
      // A hit needs no source: nobody makes it to tell what it begins with.
      preludes.push_back({program.source_digest(), true});
      continue;
    }
    const auto [said, is_new] = scanned.try_emplace(program.source_digest());
    if (is_new) said->second = read_directives(program.source());
    preludes.push_back({prelude_text_of(program, target, said->second), said->second.prelude == 0});
  }
  return preludes;
}

std::vector<std::size_t> in_groups(const std::vector<Prelude>& preludes) {
  std::map<Digest, std::size_t> firsts;
  std::vector<std::size_t> groups;
  groups.reserve(preludes.size());
  for (const auto& prelude : preludes)
    groups.push_back(firsts.emplace(prelude.text, groups.size()).first->second);
  std::vector<std::size_t> order(preludes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a] < groups[b]; });
  return order;
}

std::vector<Cost> costs_of(const std::vector<Prelude>& preludes,
                           const std::vector<std::size_t>& order) {
  std::vector<Cost> costs;
  Digest group;
  for (const auto index : order) {
    const auto& own = preludes[index];
    const auto first = own.empty ? 1 : cost_of_reading;
    const bool begins_group = own.text != group || own.empty;
    costs.push_back({first, begins_group ? first : 1, begins_group});
    group = own.text;
  }
  return costs;
}

// Which worker has which stretch of the order. A worker takes one group after the other, as they stand. Where none
// is left, it takes a part of another worker's stretch, if it pays to read the headers twice.
class Stretches {
 public:
  Stretches(std::vector<Cost> costs, std::size_t workers)
      : costs_(std::move(costs)), stretches_(workers) {}

  std::optional<std::size_t> next(std::size_t worker) {
    auto& own = stretches_[worker];
    if (own.begin == own.end) own = next_group();
    if (own.begin == own.end) take_from_the_longest(own);
    if (own.begin == own.end) return std::nullopt;
    return own.begin++;
  }

 private:
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  Stretch next_group() {
    const auto begin = begun_;
    if (begun_ < costs_.size()) ++begun_;
    while (begun_ < costs_.size() && !costs_[begun_].begins_group) ++begun_;
    return {begin, begun_};
  }

  // Takes nothing where the owner will have done it sooner.
  void take_from_the_longest(Stretch& own) {
    auto& longest = *std::max_element(
        stretches_.begin(), stretches_.end(),
        [this](const auto& a, const auto& b) { return cost_to_go_on(a) < cost_to_go_on(b); });
    const auto cut = best_cut(longest);
    own = {cut, longest.end};
    longest.end = cut;
  }

  [[nodiscard]] std::size_t cost_to_go_on(const Stretch& stretch) const {
    std::size_t sum = 0;
    for (auto place = stretch.begin; place < stretch.end; ++place) sum += costs_[place].next;
    return sum;
  }

  // The cut with which the stretch is done soonest: its owner keeps what is before it, another worker gets the rest.
  [[nodiscard]] std::size_t best_cut(const Stretch& stretch) const {
    std::size_t best = stretch.end;
    std::size_t kept = 0;
    std::size_t given = cost_to_go_on(stretch);
    std::size_t least = given;
    for (auto cut = stretch.begin; cut < stretch.end; ++cut) {
      const auto& cost = costs_[cut];
      const auto longer = std::max(kept, given - cost.next + cost.first);
      if (longer < least || (longer == least && best == stretch.end)) {
        least = longer;
        best = cut;
      }
      kept += cost.next;
      given -= cost.next;
    }
    return best;
  }

  const std::vector<Cost> costs_;
  std::size_t begun_ = 0;  ///< Where, in the order, the first group begins that nobody has.
  std::vector<Stretch> stretches_;
};

// Items on their way share it, and ring it from any thread.
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
  Prefetch(const std::vector<PrefetchItem>& items, const std::vector<Prelude>& preludes,
           std::size_t workers, const BeginItem& begin, const PrefetchProgress& progress)
      : items_(items),
        begin_(begin),
        progress_(progress),
        order_(in_groups(preludes)),
        stretches_(costs_of(preludes, order_), workers),
        workers_(workers) {}

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
    std::shared_ptr<const std::atomic<bool>> compiled;  ///< The worker may have the next.
  };

  // One item at a time for each worker: a second one that waits for the compiler would go to whichever worker is free
  // first, which would read its group's headers once more.
  void begin_what_fits(const std::stop_token& stop) {
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      while (!is_busy(worker) && !stop.stop_requested() && begin_next(worker)) {
      }
    }
  }

  [[nodiscard]] bool is_busy(std::size_t worker) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const UnderWay& one) { return one.worker == worker && !*one.compiled; });
  }

  bool begin_next(std::size_t worker) {
    const auto place = stretches_.next(worker);
    if (!place) return false;
    const auto index = order_[*place];
    const auto compiled = std::make_shared<std::atomic<bool>>(false);
    const auto ring = [bell = bell_] { bell->ring(); };
    const auto ring_for_next = [ring, compiled] {
      *compiled = true;
      ring();
    };
    auto compiling = begin_(items_[index], {ring_for_next, ring});
    if (compiling.ready()) {
      account(index, compiling.get());
    } else {
      under_way_.push_back({index, worker, std::move(compiling), compiled});
    }
    return true;
  }

  void account_for_the_ready() {
    for (auto at = under_way_.begin(); at != under_way_.end();) {
      if (!at->compiling.ready()) {
        ++at;
        continue;
      }
      account(at->index, at->compiling.get());
      at = under_way_.erase(at);
    }
  }

  void give_up() {
    for (const auto& one : under_way_) one.compiling.cancel();
  }

  void report_the_rest() {
    for (std::size_t worker = 0; worker < workers_; ++worker) {
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
  const std::size_t workers_;
  std::list<UnderWay> under_way_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::size_t done_ = 0;
  PrefetchReport report_;
};

}  // namespace

Digest prelude_text_of(const Program& program, const Target& target, const Directives& source) {
  std::string text = target.arch();
  const auto add = [&text](std::string_view field) { text.append(1, '\0').append(field); };
  add(to_string(target.kind()));
  for (const auto& option : program.options()) add(option);
  add(std::string_view(program.source()).substr(0, source.prelude));
  return digest_of(text);
}

std::set<Digest> repeated_preludes(const std::vector<PrefetchItem>& items) {
  std::set<Digest> once;
  std::set<Digest> repeated;
  for (const auto& prelude : preludes_of(items)) {
    if (!once.insert(prelude.text).second) repeated.insert(prelude.text);
  }
  return repeated;
}

std::vector<std::size_t> in_groups(const std::vector<PrefetchItem>& items) {
  return in_groups(preludes_of(items));
}

PrefetchReport prefetch_all(const std::vector<PrefetchItem>& items, std::size_t workers,
                            const BeginItem& begin, const PrefetchProgress& progress,
                            const std::stop_token& stop) {
  return Prefetch(items, preludes_of(items), workers, begin, progress).run(stop);
}

}  // namespace kiln
