#include "queue/compile_queue.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/background_thread.h"

namespace kiln {

namespace {

using StatePointer = std::shared_ptr<Compiling::State>;

struct Asker {
  StatePointer state;
  bool late = false;  ///< Came while the task was running.
};

struct Task {
  CompileQueue::Request
      request;  ///< The first asker's. `priority` is the highest that was asked for.
  std::uint64_t order = 0;
  std::vector<Asker> askers = {};
  std::stop_source stop = {};
  bool running = false;
  bool compiling = false;  ///< Running, and not done with the compiler.
};

using TaskPointer = std::shared_ptr<Task>;

struct Sooner {
  bool operator()(const TaskPointer& left, const TaskPointer& right) const {
    // The higher priority goes first, then the older task.
    return std::tuple(right->request.priority, left->order) <
           std::tuple(left->request.priority, right->order);
  }
};

Result<ServedArtifact> carry_out(const CompileQueue::Work& work, const CompileControl& control) {
  try {
    return work(control);
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::compile_failed,
                fmt::format("the compile ended with: {}", thrown.what()));
  }
}

// Only one asker gets the origin "compiled", so that compiles can be counted by it.
void complete(const std::vector<Asker>& askers, Result<ServedArtifact> outcome) {
  for (const auto& asker : askers) {
    asker.state->complete(outcome);
    if (outcome) outcome->origin = Origin::memory;
  }
}

}  // namespace

// Each Compiling refers to it, and may outlive the queue.
class CompileQueue::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::size_t compiles, std::size_t bound) : most_compiles_(compiles), bound_(bound) {}

  Compiling add(Request request);
  void close();
  void join();
  /// From now on it is never destroyed.
  void stay() { itself_ = shared_from_this(); }

 private:
  TaskPointer enqueue(Request request);
  void join_task(const TaskPointer& task, int priority, const StatePointer& state);
  [[nodiscard]] bool has_work() const;
  bool start_thread_if_wanted();
  void leave_compiler(const TaskPointer& task);
  void leave(const TaskPointer& task, const Compiling::State* who);
  void forget(const TaskPointer& task);
  void serve();
  void finish(const TaskPointer& task);

  const std::size_t most_compiles_;
  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable something_to_do_;
  bool closed_ = false;
  std::uint64_t next_order_ = 0;
  std::set<TaskPointer, Sooner> waiting_;
  std::set<TaskPointer> running_;
  std::map<Digest, TaskPointer> joinable_;  ///< Waiting or running, and wanted.
  std::size_t compiling_ = 0;               ///< How many of those that run are.
  std::size_t idle_ = 0;
  std::vector<std::thread> threads_;
  std::shared_ptr<Core> itself_;
};

Compiling CompileQueue::Core::add(Request request) {
  const auto state = std::make_shared<Compiling::State>(std::move(request.when_ready));
  std::unique_lock lock(mutex_);
  const auto known = joinable_.find(request.key);
  if (known == joinable_.end() && request.bounded && waiting_.size() >= bound_) {
    lock.unlock();
    state->complete(
        fail(ErrorCode::queue_full,
             fmt::format(
                 "{}: {} compiles are waiting already. Ask later, or raise KILN_COMPILE_QUEUE or "
                 "RuntimeOptions::compile_queue",
                 request.name, bound_)));
    return Compiling(state);
  }
  const int priority = request.priority;
  const auto task = known != joinable_.end() ? known->second : enqueue(std::move(request));
  state->set_when_cancelled(
      [core = weak_from_this(), task = std::weak_ptr(task), who = state.get()] {
        const auto here = core.lock();
        const auto still = task.lock();
        if (here && still) here->leave(still, who);
      });
  join_task(task, priority, state);
  if (!start_thread_if_wanted()) {
    waiting_.erase(task);
    forget(task);
    const auto askers = std::exchange(task->askers, {});
    lock.unlock();
    complete(askers, fail(ErrorCode::queue_full,
                          fmt::format("{}: the system starts no thread to compile on",
                                      task->request.name)));
    return Compiling(state);
  }
  lock.unlock();
  something_to_do_.notify_one();
  return Compiling(state);
}

TaskPointer CompileQueue::Core::enqueue(Request request) {
  auto task = std::make_shared<Task>(Task{std::move(request), next_order_++});
  waiting_.insert(task);
  joinable_[task->request.key] = task;
  return task;
}

void CompileQueue::Core::join_task(const TaskPointer& task, int priority,
                                   const StatePointer& state) {
  task->askers.push_back({state, task->running});
  if (task->running || priority <= task->request.priority) return;
  // The order of a set's elements must not change while they are in it.
  waiting_.erase(task);
  task->request.priority = priority;
  waiting_.insert(task);
}

// Whether a thread has something to do now.
bool CompileQueue::Core::has_work() const {
  return !waiting_.empty() && compiling_ < most_compiles_;
}

/// False where there is no thread at all.
bool CompileQueue::Core::start_thread_if_wanted() {
  if (!has_work() || idle_ >= waiting_.size() || threads_.size() == 2 * most_compiles_) return true;
  try {
    threads_.push_back(start_background_thread([this] { serve(); }));
  } catch (const std::system_error&) {
    return !threads_.empty();
  }
  return true;
}

// The next task need not wait until this one is stored.
void CompileQueue::Core::leave_compiler(const TaskPointer& task) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(task->compiling, false)) return;
    --compiling_;
    if (!closed_) start_thread_if_wanted();
  }
  something_to_do_.notify_one();
  if (task->request.when_compiled) task->request.when_compiled();
}

// Who has cancelled is no asker any more, and a task without askers is stopped.
void CompileQueue::Core::leave(const TaskPointer& task, const Compiling::State* who) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(task->askers, [&](const Asker& asker) { return asker.state.get() == who; });
    if (!task->askers.empty()) return;
    forget(task);
    if (!task->running) waiting_.erase(task);
  }
  task->stop.request_stop();
}

void CompileQueue::Core::forget(const TaskPointer& task) {
  const auto known = joinable_.find(task->request.key);
  if (known != joinable_.end() && known->second == task) joinable_.erase(known);
}

void CompileQueue::Core::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    something_to_do_.wait(lock, [this] { return closed_ || has_work(); });
    --idle_;
    if (closed_) return;
    const auto task = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    task->running = true;
    task->compiling = true;
    ++compiling_;
    running_.insert(task);
    lock.unlock();
    finish(task);
    lock.lock();
    if (task->compiling) --compiling_;
    running_.erase(task);
  }
}

void CompileQueue::Core::finish(const TaskPointer& task) {
  for (bool all_served = false; !all_served;) {
    auto outcome = carry_out(task->request.work,
                             {task->stop.get_token(), [this, task] { leave_compiler(task); }});
    std::vector<Asker> served;
    {
      const std::lock_guard lock(mutex_);
      const auto late = std::stable_partition(task->askers.begin(), task->askers.end(),
                                              [](const Asker& asker) { return !asker.late; });
      served.assign(task->askers.begin(), late);
      task->askers.erase(task->askers.begin(), late);
      for (auto& asker : task->askers) asker.late = false;
      all_served = task->askers.empty();
      if (all_served) forget(task);
    }
    complete(served, std::move(outcome));
  }
}

void CompileQueue::Core::close() {
  std::vector<TaskPointer> open;
  std::vector<Asker> askers;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    open.assign(running_.begin(), running_.end());
    open.insert(open.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    joinable_.clear();
    for (const auto& task : open) {
      askers.insert(askers.end(), task->askers.begin(), task->askers.end());
      task->askers.clear();
    }
  }
  something_to_do_.notify_all();
  for (const auto& task : open) task->stop.request_stop();
  complete(askers, fail(ErrorCode::cancelled, "the compile was cancelled: its runtime has ended"));
}

void CompileQueue::Core::join() {
  for (auto& thread : threads_) thread.join();
}

CompileQueue::CompileQueue(std::size_t compiles, std::size_t bound)
    : process_(::getpid()), core_(std::make_shared<Core>(compiles, bound)) {}

CompileQueue::~CompileQueue() {
  if (process_ != ::getpid()) {
    // A forked child has none of the threads, and what they waited for cannot be destroyed in it.
    core_->stay();
    return;
  }
  core_->close();
  core_->join();
}

Compiling CompileQueue::add(Request request) { return core_->add(std::move(request)); }

}  // namespace kiln
