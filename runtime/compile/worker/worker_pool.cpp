#include "compile/worker/worker_pool.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/build_identity.h"
#include "base/working_directory.h"
#include "compile/worker/worker_protocol.h"

namespace kiln {

namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

// In which a worker has to be mapped and to answer, on a loaded machine.
constexpr auto time_to_greet = 30s;
// In which the system has to tell how a worker died that has closed its socket.
constexpr auto time_to_die = 2s;
constexpr int most_attempts = 2;

// Whether it has ended. A stop ends the wait.
bool wait_for(WorkerProcess& process, const StopSignal& stop) {
  const auto end = Clock::now() + time_to_die;
  while (!process.wait(10ms)) {
    if (stop.requested() || Clock::now() >= end) return false;
  }
  return true;
}

tl::unexpected<Error> out_of_memory(const CompileJob& job, std::uint64_t memory) {
  const auto* const who = memory < most_address_space()
                              ? "KILN_COMPILE_MEMORY sets how much"
                              : "this process may give it no more (ulimit -v)";
  return fail(ErrorCode::worker_failed, job,
              fmt::format("the compiler ran out of memory: its worker may have {} MiB of address "
                          "space; {}",
                          memory >> 20, who));
}

// Gives a place back, whatever happened there.
class Holding {
 public:
  Holding(WorkerQueue& queue, std::size_t place) noexcept : queue_(queue), place_(place) {}
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  ~Holding() { queue_.give_back(place_); }

 private:
  WorkerQueue& queue_;
  const std::size_t place_;
};

}  // namespace

WorkerPool::WorkerPool(WorkerPoolOptions options, InstalledCompiler& compiler,
                       const Reporter& reporter)
    : options_(std::move(options)),
      compiler_(compiler),
      reporter_(reporter),
      in_process_(compiler, options_.timeout, options_.precompiled_max_bytes),
      owner_(::getpid()),
      keeper_(std::make_unique<WorkerKeeper>()),
      queue_(std::make_unique<WorkerQueue>(options_.workers)),
      places_(options_.workers) {}

WorkerPool::~WorkerPool() {
  if (owner_ != ::getpid()) {
    // Their threads, which they would wait for, are not in this process.
    static_cast<void>(keeper_.release());
    static_cast<void>(queue_.release());
    return;
  }
  for (auto& place : places_) {
    if (place.link) keeper_->end(place.link->release(), false);
  }
}

Result<CompileOutcome> WorkerPool::run(const CompileJob& job, std::stop_token stop) {
  if (owner_ != ::getpid()) {
    return fail(
        ErrorCode::cancelled, job,
        "not compiled: this process was forked amid the call, and its parent has the workers");
  }
  if (const auto nvrtc = compiler_.identity(); !nvrtc) return tl::unexpected(nvrtc.error());
  const auto here = standing();
  if (!here)
    return run_without(job, "the working directory has no name by which a worker could go there",
                       stop);
  const auto place = queue_->take(job.prelude, stop);
  if (!place) return cancelled(job);
  const Holding holding(*queue_, *place);
  return run_at(*place, job, frame_of(MessageKind::job, encode_request(job, *here)), stop);
}

Result<CompileOutcome> WorkerPool::run_at(std::size_t place, const CompileJob& job,
                                          const std::string& request, const std::stop_token& stop) {
  const StopSignal signal(stop);
  Place& own = places_[place];
  auto memory = options_.memory.usual;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const auto start = make_ready(place, memory, signal);
    if (start == Start::stopped) return cancelled(job);
    if (start == Start::impossible) return run_without(job, own.trouble, stop);
    if (start == Start::died) continue;
    Message answer;
    const auto reply = own.link->ask(request, signal, Clock::now() + options_.timeout, answer);
    if (reply == Reply::answered && answer.kind == MessageKind::outcome) {
      if (auto outcome = decode_outcome(answer.payload)) {
        replace_if_grown(place);
        return std::move(*outcome);
      }
    }
    if (reply == Reply::answered && answer.kind == MessageKind::elsewhere) {
      // It may have no right to, or find another folder by that name.
      return run_without(
          job, fmt::format("a worker cannot go to the working directory '{}'", working_directory()),
          stop);
    }
    if (reply == Reply::stopped) {
      end(place, true);
      return cancelled(job);
    }
    if (reply == Reply::timed_out) {
      end(place, true);
      return timed_out(job, options_.timeout);
    }
    mourn(place, signal);
    if (own.ran_out_of_memory) {
      if (memory >= options_.memory.most) return out_of_memory(job, memory);
      memory = options_.memory.most;
    }
  }
  return fail(ErrorCode::worker_failed, job,
              fmt::format("the compile ended its worker process, and a fresh one as well: the "
                          "worker {}",
                          own.trouble));
}

Result<CompileOutcome> WorkerPool::run_without(const CompileJob& job, const std::string& why,
                                               const std::stop_token& stop) {
  if (vendor::has_compiler_variables()) {
    return fail(ErrorCode::worker_failed, job,
                why +
                    ". It is not compiled in this process either, whose NVRTC_* variables may "
                    "change what it comes to: unset them");
  }
  std::call_once(warned_, [&] {
    reporter_.warn(fmt::format("compiling in this process instead of in workers: {}", why));
  });
  return in_process_.run(job, stop);
}

WorkerPool::Start WorkerPool::make_ready(std::size_t place, std::uint64_t memory,
                                         const StopSignal& stop) {
  Place& own = places_[place];
  if (unusable_) {
    own.trouble = "no compile worker could be used before";
    return Start::impossible;
  }
  if (own.link && own.link->is_up() && own.memory >= memory) return Start::ready;
  // It died while it was idle, which is no job's fault, or it may not have enough memory.
  if (own.link) end(place, true);
  auto process = keeper_->start(options_.executable, temporary());
  if (!process) {
    own.trouble = process.error().message;
    return Start::impossible;
  }
  own.link = std::make_unique<WorkerLink>(std::move(*process));
  own.memory = memory;
  return greet(place, stop);
}

// Empty where no folder can be made.
std::filesystem::path WorkerPool::temporary() {
  std::call_once(scratch_made_, [this] {
    if (auto made = ScratchFolder::make()) scratch_.emplace(std::move(*made));
  });
  return scratch_ ? scratch_->path() : std::filesystem::path();
}

WorkerPool::Start WorkerPool::greet(std::size_t place, const StopSignal& stop) {
  Place& own = places_[place];
  const auto& files = *compiler_.search().files;
  const WorkerSetup setup{
      files.library.string(),         files.toolchain.identity,         own.memory,
      options_.precompiled_max_bytes, options_.precompiled_large_pages, owner_};
  Message answer;
  const auto reply = own.link->ask(frame_of(MessageKind::hello, build_identity()) +
                                       frame_of(MessageKind::setup, encode_setup(setup)),
                                   stop, Clock::now() + time_to_greet, answer);
  if (reply == Reply::stopped) {
    end(place, true);
    return Start::stopped;
  }
  if (reply == Reply::answered && answer.kind == MessageKind::hello) {
    if (answer.payload == build_identity()) {
      any_greeted_ = true;
      return Start::ready;
    }
    end(place, true);
    own.trouble = fmt::format(
        "{} is of another build of kiln ({}, this is {}); install both anew, "
        "or name the right one with KILN_WORKER",
        options_.executable.string(), answer.payload, build_identity());
    unusable_ = true;
    return Start::impossible;
  }
  // A worker that somebody killed before it could answer tells nothing about the executable.
  const bool killed = mourn(place, stop);
  if (killed || any_greeted_) return Start::died;
  if (reply == Reply::timed_out)
    own.trouble.insert(0, fmt::format("did not answer within {} seconds, and was ended: it ",
                                      time_to_greet.count()));
  own.trouble = fmt::format("{} does not start: it {}", options_.executable.string(), own.trouble);
  unusable_ = true;
  return Start::impossible;
}

void WorkerPool::end(std::size_t place, bool at_once) {
  keeper_->end(places_[place].link->release(), at_once);
  places_[place].link.reset();
  queue_->forget(place);
}

// Learns how a worker died that no longer answers. Gives whether somebody else killed it.
bool WorkerPool::mourn(std::size_t place, const StopSignal& stop) {
  Place& own = places_[place];
  auto& process = own.link->process();
  process.hang_up();
  // A worker that talks nonsense or has closed its socket may not end by itself.
  const bool ended = wait_for(process, stop);
  if (!ended) process.kill();
  wait_for(process, stop);
  const bool killed = ended && process.was_killed();
  process.listen();
  own.trouble = process.death();
  own.ran_out_of_memory = process.ran_out_of_memory();
  if (!process.last_words().empty()) {
    own.trouble += fmt::format("; the last it said:\n{}", process.last_words());
  }
  end(place, true);
  return killed;
}

void WorkerPool::replace_if_grown(std::size_t place) {
  const auto size = places_[place].link->process().address_space();
  if (size > places_[place].memory / 4 * 3) end(place, false);
}

}  // namespace kiln
