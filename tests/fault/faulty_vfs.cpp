#include "faulty_vfs.h"

namespace kiln::test {
namespace {

int io_error_of(Call call) noexcept {
  switch (call) {
    case Call::open:
    case Call::full_path:
      return SQLITE_IOERR;
    case Call::remove:
      return SQLITE_IOERR_DELETE;
    case Call::access:
      return SQLITE_IOERR_ACCESS;
    case Call::read:
      return SQLITE_IOERR_READ;
    case Call::write:
      return SQLITE_IOERR_WRITE;
    case Call::truncate:
      return SQLITE_IOERR_TRUNCATE;
    case Call::sync:
      return SQLITE_IOERR_FSYNC;
    case Call::file_size:
      return SQLITE_IOERR_FSTAT;
    case Call::lock:
      return SQLITE_IOERR_LOCK;
    case Call::unlock:
      return SQLITE_IOERR_UNLOCK;
    case Call::check_lock:
      return SQLITE_IOERR_CHECKRESERVEDLOCK;
  }
  return SQLITE_IOERR;
}

}  // namespace

const char* to_string(FaultKind kind) noexcept {
  constexpr const char* names[] = {"full", "io_error", "cannot_open"};
  return names[static_cast<int>(kind)];
}

std::optional<int> code_of(FaultKind kind, Call call) noexcept {
  const bool needs_room = call == Call::write || call == Call::truncate || call == Call::sync;
  const bool opens = call == Call::open || call == Call::full_path;
  switch (kind) {
    case FaultKind::full:
      return needs_room ? std::optional(SQLITE_FULL) : std::nullopt;
    case FaultKind::cannot_open:
      return opens ? std::optional(SQLITE_CANTOPEN) : std::nullopt;
    case FaultKind::io_error:
      return io_error_of(call);
  }
  return std::nullopt;
}

void FaultyVfs::arm(std::optional<Fault> fault) {
  fault_ = fault;
  calls_.clear();
}

int FaultyVfs::intercept(const Operation& operation) {
  const std::size_t number = calls_.size();
  calls_.push_back(operation.call);
  if (!fault_ || number < fault_->at || (number > fault_->at && !fault_->for_good))
    return SQLITE_OK;
  return code_of(fault_->kind, operation.call).value_or(SQLITE_OK);
}

}  // namespace kiln::test
