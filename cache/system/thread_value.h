#pragma once

// Elsewhere nothing is destroyed at an exit, since threads that nobody waits for may go on.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wexit-time-destructors"
#endif

namespace kiln::system {

/// A value that each thread keeps. Destructors of a thread's older variables, and of static ones, run when it is gone already.
template <class Value>
class ThreadValue {
 public:
  /// The calling thread's; nullptr once it is gone.
  [[nodiscard]] static Value* get() {
    if (is_gone) return nullptr;
    thread_local Holder holder;
    return &holder.value;
  }

 private:
  struct Holder {
    Holder() = default;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { is_gone = true; }

    Value value;
  };

  inline static thread_local bool is_gone = false;
};

}  // namespace kiln::system

#ifdef __clang__
#pragma clang diagnostic pop
#endif
