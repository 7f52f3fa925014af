#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

namespace kiln {

/// Keeps the end of the process from destroying what NVRTC still uses on kiln's threads. It tells these threads to
/// stop, and waits for them, ten seconds at most; then the process ends all the same. Safe to use from any
/// thread, and where a signal's handler calls exit(), as a host's may.
///
/// Where the main thread ends the process, by returning or by exit(), the wait comes before anything of the host's is
/// destroyed: what belongs to a thread goes before all handlers of exit(). Where another thread calls exit(), a handler
/// waits, before anything of NVIDIA's libraries is destroyed; see go_before().
///
/// A child that was forked while another thread was in a Stay leaves out what its parent had registered with
/// atexit(): nvJitLink's own part of it waits for a lock that such a thread holds. Its own handlers run, its streams
/// are flushed.
class ProcessEnd {
 public:
  /// While one exists, the end of the process waits. For a call on a thread of the host's that loads a library of
  /// NVIDIA's or works in it. The end does not wait for those of the thread that ends the process: it would wait for itself.
  /// For a child that another thread forks meanwhile, forked_amid_calls() is true.
  class Stay {
   public:
    Stay() noexcept;
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay();

    /// False where the process is ending already, and nothing may begin any more.
    [[nodiscard]] explicit operator bool() const noexcept {
      return !get().ending_.stop_requested();
    }

   private:
    inline static thread_local int of_this_thread = 0;
    friend class ProcessEnd;
  };

  /// The one of this process; never destroyed.
  static ProcessEnd& get();

  /// Makes the end wait for this thread, until all that NVRTC keeps for it is destroyed. To be called before
  /// the thread uses NVRTC. False where the process is ending already.
  [[nodiscard]] bool wait_for_this_thread();

  /// Has a handler of exit() wait before those that this library of NVIDIA's has registered when it was loaded; it
  /// registers none later (vendor::open_library()). To be called when it has been loaded, before it is used.
  void go_before(const std::filesystem::path& library);

  /// Takes a thread for which nobody waits any more. The end waits until nothing of it is left: NVRTC also keeps what
  /// the system destroys after all that the language destroys.
  void adopt(std::thread thread);

  /// Whether this process was forked while its parent compiled in its own process or linked. Then threads that are not
  /// here hold the locks of NVIDIA's libraries, and nothing here will ever get them.
  [[nodiscard]] bool forked_amid_calls() const noexcept { return forked_amid_calls_; }

  /// Requested when the process ends. To be listened to on threads that take no signals.
  [[nodiscard]] std::stop_token ending() const noexcept { return ending_.get_token(); }

  /// To be called on each thread that asks for a compile, since it may be the main one. Where another thread loaded
  /// kiln, and this was never called on the main thread, the handler alone waits.
  static void notice_main_thread();

 private:
  struct Presence;
  struct OfMainThread;
  struct Adopted;

  ProcessEnd();
  void wait() noexcept;
  void add(Adopted* thread) noexcept;
  void join_the_ended() noexcept;
  [[nodiscard]] bool is_waited_for() const noexcept;
  void begin_in_child() noexcept;

  std::stop_source ending_;
  std::atomic<int> threads_{0};
  std::atomic<int> stays_{0};
  std::atomic<int> adopted_threads_{0};
  std::atomic<Adopted*> adopted_{nullptr};  ///< A list.
  Adopted* of_parent_ = nullptr;            ///< In a forked child, which has none of them.
  std::atomic<bool> out_of_patience_{false};
  std::mutex libraries_mutex_;
  std::set<std::filesystem::path> libraries_;
  std::atomic<bool> forked_amid_calls_{false};
};

}  // namespace kiln
