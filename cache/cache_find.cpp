#include <chrono>

#include "cache_impl.h"
#include "entry_reader.h"
#include "file_lock.h"
#include "schema.h"

namespace kiln {

using storage::EntryIdentity;
using storage::EntryReader;
using storage::MaterialMatch;
using storage::RowState;
using storage::Statement;

struct Cache::Impl::Wanted {
  const Request& request;
  const std::string material;
  const Digest digest;
  const Digest& roots;
  const std::function<bool(const Candidate&)>& accept;
};

std::optional<Artifact> Cache::Impl::find(const Request& request, const Digest& roots,
                                          const std::function<bool(const Candidate&)>& accept) {
  std::string material = request.material();
  const Digest digest = digest_of(material);
  std::vector<std::int64_t> damaged;
  auto artifact = search({request, std::move(material), digest, roots, accept}, damaged);
  ++(artifact ? hits_ : misses_);
  if (!damaged.empty()) drop(damaged);
  return artifact;
}

std::optional<Artifact> Cache::Impl::search(const Wanted& wanted,
                                            std::vector<std::int64_t>& damaged) {
  std::lock_guard guard(mutex_);
  EntryReader reader(connection_, decoder_);
  Statement row(connection_,
                "SELECT key, toolchain, dependencies, material, payload, id FROM entries "
                "WHERE request = ? ORDER BY id DESC");
  row.bind_blob(1, wanted.digest.view());
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    const auto found_damaged = [&] { damaged.push_back(row.integer(storage::first_other_column)); };
    const auto stored_material = row.blob(storage::material_column);
    const auto match = storage::match_material(stored_material, wanted.material, wanted.digest);
    if (match == MaterialMatch::damaged) found_damaged();
    if (match != MaterialMatch::same) continue;

    EntryIdentity identity;
    const RowState state = reader.identify(row, wanted.digest, identity);
    if (state == RowState::damaged) found_damaged();
    if (state == RowState::unreadable) ++errors_;
    if (state != RowState::sound) continue;

    const auto witness = reader.witness(identity, wanted.roots);
    const bool accepted = wanted.accept(
        {identity.key, identity.toolchain, identity.dependencies, witness ? &*witness : nullptr});
    if (!accepted) continue;
    if (auto artifact = reader.artifact(row, identity, wanted.request)) return artifact;
    found_damaged();
  }
  if (code != SQLITE_DONE) ++errors_;
  return std::nullopt;
}

/// Best effort: a row that stays is found damaged again, and dropped then.
void Cache::Impl::drop(const std::vector<std::int64_t>& damaged) {
  damaged_ += damaged.size();
  if (read_only_) return;
  const auto lock = storage::FileLock::acquire(file_.parent_path() / storage::lock_name,
                                               std::chrono::milliseconds::zero());
  if (!lock) return;
  std::lock_guard guard(mutex_);
  for (const std::int64_t id : damaged) {
    Statement row(connection_, "DELETE FROM entries WHERE id = ?");
    if (!row.bind_integer(1, id).run()) ++errors_;
  }
}

}  // namespace kiln
