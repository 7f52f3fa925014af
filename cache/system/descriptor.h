#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kiln::system {

/// Owns a file descriptor; closes it at its end. Movable.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

  /// Keeps errno, of which whoever failed before it is yet to tell.
  void reset() noexcept {
    const int error = errno;
    if (number_ >= 0) ::close(number_);
    errno = error;
    number_ = -1;
  }

 private:
  int number_ = -1;
};

/// Whether a call failed for want of descriptors, and what a person can do about it.
[[nodiscard]] inline bool wants_descriptors(int error) noexcept {
  return error == EMFILE || error == ENFILE;
}
inline constexpr const char* remedy_for_descriptors = "let it open more files (ulimit -n)";

}  // namespace kiln::system
