#include "kiln/observer.h"

namespace kiln {

const char* to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::hit:
      return "hit";
    case EventKind::miss:
      return "miss";
    case EventKind::compile_begin:
      return "compile_begin";
    case EventKind::compile_end:
      return "compile_end";
    case EventKind::store:
      return "store";
    case EventKind::not_stored:
      return "not_stored";
    case EventKind::load:
      return "load";
    case EventKind::launch_failed:
      return "launch_failed";
    case EventKind::remote_store:
      return "remote_store";
    case EventKind::lease_wait:
      return "lease_wait";
  }
  return "?";
}

}  // namespace kiln
