#include "backend.h"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>

#include "file_leases.h"
#ifdef KILN_WITH_HTTP
#include "http_store.h"
#endif
#ifdef KILN_WITH_REDIS
#include "redis_store.h"
#endif

namespace kiln::remote {

namespace {

/// Which folder a path names now; nothing where it names none.
std::optional<std::pair<dev_t, ino_t>> folder_at(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

Result<Backend> open_folder(const RemoteAddress& address, const FileStoreOptions& options) {
  const auto root = address.path() + "/kiln-store.v1";
  auto objects = open_file_store(address.path(), options);
  if (!objects) return tl::unexpected(std::move(objects.error()));
  Backend backend{std::move(*objects), nullptr,
                  [root, opened = folder_at(root)] { return folder_at(root) == opened; }};
  backend.writable = options.create;
  // Who may not write there gets none.
  if (auto leases = options.read_only ? Result<std::unique_ptr<Leases>>(nullptr)
                                      : open_file_leases(address, options.create))
    backend.leases = std::move(*leases);
  return backend;
}

[[maybe_unused]] tl::unexpected<Error> built_without(const RemoteAddress& address,
                                                     const char* library) {
  return fail(ErrorCode::invalid_setting, address.shown() + ": kiln-remote was built without " +
                                              library + "; build kiln where that is installed");
}

}  // namespace

Result<Backend> open_backend(const RemoteAddress& address, const FileStoreOptions& of_folder) {
  switch (address.kind) {
    case RemoteAddress::Kind::file:
      return open_folder(address, of_folder);
    case RemoteAddress::Kind::redis:
    case RemoteAddress::Kind::redis_socket:
#ifdef KILN_WITH_REDIS
      return open_redis(address);
#else
      return built_without(address, "hiredis");
#endif
    case RemoteAddress::Kind::http:
    case RemoteAddress::Kind::s3:
#ifdef KILN_WITH_HTTP
      return open_http(address);
#else
      return built_without(address, "libcurl");
#endif
  }
  return fail(ErrorCode::invalid_argument, "no such kind of store");
}

}  // namespace kiln::remote
