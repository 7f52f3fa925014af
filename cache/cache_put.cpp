#include <fmt/format.h>

#include "cache_impl.h"
#include "entry_writer.h"
#include "file_lock.h"
#include "schema.h"

namespace kiln {

using storage::Statement;

Result<std::vector<Text>> Cache::Impl::not_stored(const std::vector<Text>& texts) {
  std::lock_guard guard(mutex_);
  std::vector<Text> missing;
  for (const Text& text : texts) {
    Statement row(connection_, "SELECT 1 FROM texts WHERE digest = ?");
    const int code = row.bind_blob(1, text.digest.view()).step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return failure("looking for a text");
    if (code == SQLITE_DONE) missing.push_back(text);
  }
  return missing;
}

Result<void> Cache::Impl::put(const NewEntry& entry) {
  if (read_only_) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("cache '{}' is read-only here; nothing is stored", file_.string()));
  }
  const auto texts = not_stored(entry.texts);
  if (!texts) return tl::unexpected(texts.error());
  const auto prepared = storage::prepare(entry, *texts);
  if (!prepared) return tl::unexpected(prepared.error());

  // The lock file before the mutex, so that waiting for another process keeps no hit waiting.
  const auto lock = storage::FileLock::acquire(file_.parent_path() / storage::lock_name,
                                               storage::writer_patience);
  if (!lock) {
    ++errors_;
    return tl::unexpected(lock.error());
  }
  std::lock_guard guard(mutex_);
  storage::Transaction transaction(connection_);
  storage::EntryWriter writer(connection_, decoder_);
  if (!transaction.begin() || !writer.write(entry, *prepared) || !transaction.commit()) {
    return failure("storing an entry");
  }
  ++stores_;
  return {};
}

}  // namespace kiln
