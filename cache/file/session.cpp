#include "file/session.h"

#include <atomic>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "file/schema.h"
#include "system/no_fork.h"

namespace kiln::storage {

namespace {

Result<Database> open(const Place& place, const CacheOptions& options) {
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

Result<Database> with_own_schema(Result<Database> opened) {
  if (!opened) return opened;
  const system::NoFork no_fork;
  const auto objects = foreign_objects(opened->connection);
  if (objects && objects->empty()) return opened;
  const auto what = objects ? fmt::format("{} {}", objects->front().name, objects->front().problem)
                            : std::string("its schema cannot be read");
  return fail(ErrorCode::cache_unusable,
              fmt::format("'{}' is not as kiln makes it, and others may have written it: {}",
                          opened->file.string(), what));
}

}  // namespace

bool asks_for_proof(const Place& place, const CacheOptions& options) noexcept {
  const bool of_others = place.kind == Place::Kind::bundle_file || place.of_others;
  return of_others && !options.trusted_keys.empty();
}

Result<Database> open_place(const Place& place, const CacheOptions& options) {
  if (!asks_for_proof(place, options)) return open(place, options);
  CacheOptions of_anybody = options;
  of_anybody.trust = {.others = true, .any_owner = true};
  return with_own_schema(open(place, of_anybody));
}

void abandon(Session* session) noexcept {
  static std::atomic<Session*> abandoned = nullptr;
  session->next_abandoned = abandoned;
  while (!abandoned.compare_exchange_weak(session->next_abandoned, session)) {
  }
}

}  // namespace kiln::storage
