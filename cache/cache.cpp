#include "kiln/cache.h"

#include <utility>

#include "cache_impl.h"
#include "schema.h"

namespace kiln {

Cache::Impl::Impl(std::filesystem::path file, storage::Connection connection)
    : file_(std::move(file)),
      read_only_(connection.read_only()),
      connection_(std::move(connection)) {}

CacheCounters Cache::Impl::counters() const noexcept {
  return {
      .hits = hits_, .misses = misses_, .stores = stores_, .damaged = damaged_, .errors = errors_};
}

tl::unexpected<Error> Cache::Impl::failure(std::string_view doing) {
  ++errors_;
  return connection_.failure(doing);
}

Cache::Cache(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Result<Cache> Cache::open(const std::filesystem::path& directory, Access access) {
  auto connection = storage::open_database(directory, access);
  if (!connection) return tl::unexpected(connection.error());
  return Cache(std::make_unique<Impl>(directory / storage::database_name, std::move(*connection)));
}

const std::filesystem::path& Cache::file() const noexcept { return impl_->file(); }

std::optional<Artifact> Cache::find(const Request& request, const Digest& roots,
                                    const std::function<bool(const Candidate&)>& accept) {
  return impl_->find(request, roots, accept);
}

Result<void> Cache::put(const NewEntry& entry) { return impl_->put(entry); }

Result<std::vector<EntrySummary>> Cache::list() { return impl_->list(); }

Result<Digest> Cache::resolve(std::string_view key_prefix) { return impl_->resolve(key_prefix); }

Result<StoredEntry> Cache::entry(const Digest& key) { return impl_->entry(key); }

Result<std::string> Cache::text(const Digest& digest) { return impl_->text(digest); }

Result<CacheStatistics> Cache::statistics() { return impl_->statistics(); }

CacheCounters Cache::counters() const noexcept { return impl_->counters(); }

}  // namespace kiln
