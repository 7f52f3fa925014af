#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "vfs_shim.h"

namespace kiln::test {

/// What goes wrong with a disk.
enum class FaultKind {
  full,         ///< ENOSPC: whatever needs room.
  io_error,     ///< EIO: every call.
  cannot_open,  ///< EMFILE and its like: whatever makes a descriptor.
};

[[nodiscard]] const char* to_string(FaultKind kind) noexcept;

/// SQLite's code for this call failing this way; nothing where the call cannot.
[[nodiscard]] std::optional<int> code_of(FaultKind kind, Call call) noexcept;

struct Fault {
  FaultKind kind;
  std::size_t at;  ///< The number of the call that fails, counted from arm().
  bool for_good;   ///< Then each later call that can fail this way does.
};

/// A disk that fails when it is told to.
class FaultyVfs : public VfsShim {
 public:
  /// Counts calls from 0 again, and fails as told.
  void arm(std::optional<Fault> fault);
  /// The disk is whole again.
  void disarm() { fault_.reset(); }

  /// The calls since arm().
  [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }

  int intercept(const Operation& operation) override;

 private:
  std::optional<Fault> fault_;
  std::vector<Call> calls_;
};

}  // namespace kiln::test
