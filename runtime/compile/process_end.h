#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace kiln {

/// Keeps the end of the process from destroying what NVRTC still uses on threads of kiln's: they are told to
/// stop, and waited for, ten seconds at most. Then the process ends all the same. Safe to use from any
/// thread, and where a signal's handler calls exit(), as NVRTC's does.
///
/// NVRTC sets up what exit() destroys at any time in a compile, so that no handler of exit() is sure to come
/// before. What belongs to the main thread is destroyed before all handlers: so it is the end that the
/// main thread makes, by returning or by exit(), which waits. One that another thread makes does not.
class ProcessEnd {
 public:
  /// While one exists, the end waits: for a call on a thread of the host's that loads a library of NVIDIA's or works in
  /// it. For one on the main thread it does not, since it would wait for itself. A child that another thread forks
  /// meanwhile was forked_amid_calls().
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
    /// Those of this thread, and those of them that the end waits for.
    inline static thread_local int of_this_thread = 0;
    inline static thread_local int awaited_of_this_thread = 0;
    const int awaited_;
    friend class ProcessEnd;
  };

  /// The one of this process; never destroyed.
  static ProcessEnd& get();

  /// Makes the end wait for this thread, until all is destroyed that NVRTC keeps for it. To be called before
  /// the thread uses NVRTC. False where the process is ending already.
  [[nodiscard]] bool wait_for_this_thread();

  /// Takes a thread for which nobody waits any more: the end does, until nothing of it is left, since NVRTC also
  /// keeps what is destroyed behind all that the language destroys.
  void adopt(std::thread thread);

  /// Whether this process was forked while its parent compiled in-process or linked: the locks of NVIDIA's libraries are
  /// then held by threads that are not here, and nothing here will ever get them.
  [[nodiscard]] bool forked_amid_calls() const noexcept { return forked_amid_calls_; }

  /// Requested when the process ends. To be listened to on threads that take no signals.
  [[nodiscard]] std::stop_token ending() const noexcept { return ending_.get_token(); }

  /// Where kiln was loaded by another thread than the main one: to be called on whatever thread asks for
  /// a compile, which may be the main one. If it never is, the end does not wait.
  static void notice_main_thread();

 private:
  struct Presence;
  struct OfMainThread;
  struct Adopted;

  ProcessEnd();
  void wait() noexcept;
  void add(Adopted* thread) noexcept;
  bool join_the_ended() noexcept;
  void begin_in_child() noexcept;

  std::stop_source ending_;
  std::atomic<int> threads_{0};
  std::atomic<int> stays_{0};
  std::atomic<int> awaited_stays_{0};
  std::atomic<Adopted*> adopted_{nullptr};  ///< A list.
  Adopted* of_parent_ = nullptr;            ///< In a forked child, which has none of them.
  std::atomic<bool> forked_amid_calls_{false};
};

}  // namespace kiln
