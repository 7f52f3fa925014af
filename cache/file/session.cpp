#include "file/session.h"

#include <atomic>

namespace kiln::storage {

Result<Database> open_place(const Place& place, const CacheOptions& options) {
  switch (place.kind) {
    case Place::Kind::bundle_file:
      return open_bundle_file(place.path, options);
    case Place::Kind::bundle_bytes:
      return open_bundle_bytes(place.bytes);
    case Place::Kind::directory:
      break;
  }
  return open_database(place.path, options);
}

void abandon(Session* session) noexcept {
  static std::atomic<Session*> abandoned = nullptr;
  session->next_abandoned = abandoned;
  while (!abandoned.compare_exchange_weak(session->next_abandoned, session)) {
  }
}

}  // namespace kiln::storage
