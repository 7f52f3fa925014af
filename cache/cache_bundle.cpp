#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_store.h"
#include "file/schema.h"
#include "kiln/caller_state.h"
#include "rows/bundle_file.h"
#include "rows/entry_reader.h"
#include "rows/entry_writer.h"
#include "rows/kernel_list.h"
#include "system/no_fork.h"

namespace kiln {

using storage::BundleFile;
using storage::Connection;
using storage::PreparedEntry;
using storage::PreparedText;
using storage::RawEntry;
using storage::Statement;

namespace {

namespace fs = std::filesystem;

/// An import stores at most so many entries in a transaction, and no more once it has so many bytes.
constexpr std::size_t entries_in_a_batch = 32;
constexpr std::uint64_t bytes_in_a_batch = std::uint64_t{16} << 20;

constexpr const char* damaged = "is damaged";
constexpr const char* unreadable = "cannot be read: the database is corrupt there";

/// The names of a cache's own files begin so: kiln would take a bundle of such a name for a cache.
constexpr std::string_view own_prefix = "kernels.v";

struct Located {
  Digest key;
  std::int64_t id = 0;
  Cache::Impl* source = nullptr;
};

/// What an import stores in one transaction.
struct Batch {
  std::vector<PreparedEntry> entries = {};
  std::set<Digest> texts = {};  ///< The texts that come with them.
  std::uint64_t bytes = 0;
};

/// Its source and its headers, in an order that follows from the entry alone.
std::vector<Digest> texts_of(const PreparedEntry& entry) {
  std::vector<Digest> texts = entry.headers;
  texts.push_back(entry.source);
  return texts;
}

Result<void> check_place(const fs::path& bundle, const fs::path& own_file) {
  std::error_code no_such_file;
  const bool own = !own_file.empty() && fs::equivalent(bundle, own_file, no_such_file);
  if (!own && !bundle.filename().string().starts_with(own_prefix)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("bundle '{}' would take the place of a cache's own file; give it another "
                          "name",
                          bundle.string()));
}

/// All entries in key order, with the ids that they have now.
Result<std::vector<Located>> locate_entries(Cache::Impl& cache, std::vector<Finding>& skipped) {
  std::vector<Located> found;
  std::int64_t after = 0;
  for (int rows = Cache::Impl::rows_in_a_step; rows == Cache::Impl::rows_in_a_step;) {
    Hold hold = cache.open();
    if (!hold) return cache.not_open();
    Statement row(hold.connection(), "SELECT id, key FROM entries WHERE id > ? ORDER BY id LIMIT ?",
                  after, Cache::Impl::rows_in_a_step);
    auto there = row.next();
    for (rows = 0; there == true; there = row.next(), ++rows) {
      const std::int64_t id = row.integer(0);
      if (id <= after) {
        return fail(ErrorCode::io_failed,
                    fmt::format("cache '{}': its rows are out of order; it is damaged",
                                hold.database().file.string()));
      }
      after = id;
      if (const auto key = row.digest(1)) {
        found.push_back({*key, after, &cache});
      } else {
        skipped.push_back({"entry", fmt::format("row {}", after), damaged});
      }
    }
    if (!there) return hold.failure("listing");
  }
  std::sort(found.begin(), found.end(),
            [](const Located& a, const Located& b) { return a.key < b.key; });
  return found;
}

/// Leaves out a row on a damaged page; any other failure is an error.
template <class Row>
Result<std::optional<Row>> skip_unreadable(tl::unexpected<Error> failed, std::string what,
                                           const Digest& name, std::vector<Finding>& skipped) {
  if (!storage::is_corrupt(failed.value().vendor_code)) return failed;
  skipped.push_back({std::move(what), name.hex(), unreadable});
  return std::optional<Row>();
}

Result<bool> has_entry(Cache::Impl& cache, const Digest& key) {
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  const auto there = hold.connection().has_row("SELECT 1 FROM entries WHERE key = ?", key);
  if (!there) return hold.failure("looking for an entry");
  return *there;
}

std::optional<RawEntry> read_whole_row(Connection& connection, Statement& row) {
  auto raw = storage::read_row(connection, row, nullptr);
  if (!raw || !raw->key) return raw;
  auto kernels = storage::read_kernels(connection, *raw->key);
  if (!kernels) return std::nullopt;
  raw->kernels_frame = std::move(*kernels);
  return raw;
}

/// Reads and checks an entry. Gives nothing for a damaged one, and for one that has gone meanwhile.
Result<std::optional<PreparedEntry>> pick_up(const Located& at, std::vector<Finding>& skipped) {
  std::optional<RawEntry> raw;
  {
    Hold hold = at.source->open();
    if (!hold) return at.source->not_open();
    Statement row(hold.connection(), "SELECT " KILN_ENTRY_COLUMNS " FROM entries WHERE id = ?",
                  at.id);
    const auto there = row.next();
    if (there == true) raw = read_whole_row(hold.connection(), row);
    if (!raw && there != false) {
      return skip_unreadable<PreparedEntry>(hold.failure("reading an entry"), "entry", at.key,
                                            skipped);
    }
  }
  // Its id may be that of another entry by now.
  if (!raw || raw->key != at.key) {
    const auto there = has_entry(*at.source, at.key);
    if (!there) return tl::unexpected(there.error());
    // The scan has seen the entry. Either somebody removed it since, or a page that leads to it is damaged.
    if (*there || at.source->is_bundle()) skipped.push_back({"entry", at.key.hex(), unreadable});
    return std::optional<PreparedEntry>();
  }
  auto entry = storage::prepare_again(std::move(*raw));
  if (!entry) skipped.push_back({"entry", at.key.hex(), damaged});
  return entry;
}

/// Reads and checks a text. Gives nothing for a damaged one, and for one that is not there.
Result<std::optional<PreparedText>> pick_up_text(Cache::Impl& source, const Digest& digest,
                                                 std::vector<Finding>& skipped) {
  std::string frame;
  {
    Hold hold = source.open();
    if (!hold) return source.not_open();
    Statement row(hold.connection(), "SELECT frame FROM texts WHERE digest = ?", digest);
    const auto there = row.next();
    if (there == false) return std::optional<PreparedText>();
    if (!there) {
      return skip_unreadable<PreparedText>(hold.failure("reading a text"), "text", digest, skipped);
    }
    frame = row.blob(0);
  }
  auto text = storage::prepare_again(digest, frame);
  if (!text) skipped.push_back({"text", digest.hex(), damaged});
  return text;
}

/// Adds those of these texts to the entry that are not in `brought` yet, each from the first cache that has it sound.
Result<void> bring_texts(PreparedEntry& entry, const std::vector<Digest>& texts,
                         std::set<Digest>& brought, const std::vector<Cache::Impl*>& sources,
                         std::vector<Finding>& skipped) {
  for (const Digest& digest : texts) {
    bool missing = brought.insert(digest).second;
    for (auto source = sources.begin(); missing && source != sources.end(); ++source) {
      auto text = pick_up_text(**source, digest, skipped);
      if (!text) return tl::unexpected(text.error());
      if (*text) entry.texts.push_back(std::move(**text));
      missing = !*text;
    }
  }
  return {};
}

/// The same content gives the same bytes, because the rows follow from the entries in key order alone: a dependency set
/// or a text is written when the first entry needs it.
Result<void> write_bundle(BundleFile& file, const std::vector<Located>& rows,
                          const std::vector<Cache::Impl*>& sources, const ExportOptions& options,
                          ExportReport& report) {
  storage::EntryWriter writer(file.connection());
  std::set<Digest> texts;
  std::optional<Digest> written;
  for (const Located& row : rows) {
    if (written == row.key) continue;
    auto entry = pick_up(row, report.skipped);
    if (!entry) return tl::unexpected(entry.error());
    if (!*entry) continue;
    (*entry)->created = 0;
    (*entry)->compile_us = 0;
    if (!options.without_sources) {
      auto brought = bring_texts(**entry, texts_of(**entry), texts, sources, report.skipped);
      if (!brought) return brought;
    }
    const system::NoFork no_fork;
    if (!writer.write_texts((*entry)->texts) || !writer.write(**entry)) return file.failure();
    written = row.key;
    ++report.entries;
  }
  return {};
}

/// The texts of the entry that the cache does not hold sound. Notes the others in the entry.
Result<std::vector<Digest>> texts_missing(Cache::Impl& cache, PreparedEntry& entry) {
  std::vector<Digest> missing;
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  for (const Digest& digest : texts_of(entry)) {
    const auto stored = storage::has_sound_text(hold.connection(), digest);
    if (!stored) return hold.failure("looking for a text");
    (*stored ? entry.relied_on : missing).push_back(digest);
  }
  return missing;
}

/// Brings the entries of `from` into `to`.
class Import {
 public:
  Import(Cache::Impl& to, Cache::Impl& from) : to_(to), from_(from) {}

  Result<ImportReport> run() {
    const auto rows = locate_entries(from_, report_.skipped);
    if (!rows) return tl::unexpected(rows.error());
    for (const Located& row : *rows) {
      if (auto added = add(row); !added) return tl::unexpected(added.error());
      const bool full =
          batch_.entries.size() == entries_in_a_batch || batch_.bytes >= bytes_in_a_batch;
      if (!full && &row != &rows->back()) continue;
      if (auto stored = store_batch(); !stored) return tl::unexpected(stored.error());
    }
    return std::move(report_);
  }

 private:
  /// Picks up an entry that `to` does not hold, with those of its texts that `to` does not hold either.
  Result<void> add(const Located& row) {
    const auto present = has_entry(to_, row.key);
    if (!present) return tl::unexpected(present.error());
    if (*present) {
      ++report_.present;
      return {};
    }
    auto entry = pick_up(row, report_.skipped);
    if (!entry) return tl::unexpected(entry.error());
    if (!*entry) return {};
    const auto missing = texts_missing(to_, **entry);
    if (!missing) return tl::unexpected(missing.error());
    auto brought = bring_texts(**entry, *missing, batch_.texts, {&from_}, report_.skipped);
    if (!brought) return brought;
    batch_.bytes += (*entry)->bytes();
    batch_.entries.push_back(std::move(**entry));
    return {};
  }

  Result<void> store_batch() {
    if (batch_.entries.empty()) return {};
    const auto stored = store_whole(batch_.entries);
    if (!stored && stored.error().code == ErrorCode::too_large) return store_singly();
    if (!stored) {
      static_cast<void>(to_.leave_corrupt_file());
      return tl::unexpected(stored.error());
    }
    report_.added += *stored;
    // Another process has stored the others meanwhile.
    report_.present += batch_.entries.size() - *stored;
    batch_ = {};
    return {};
  }

  /// Stores entries; where another process has cleared texts that they rely on, picks those up and tries once more.
  Result<std::uint64_t> store_whole(std::span<PreparedEntry> entries) {
    auto stored = store(to_, entries, IfPresent::keep);
    if (stored || stored.error().code != ErrorCode::not_found) return stored;
    std::set<Digest> texts;
    for (PreparedEntry& entry : entries) {
      const auto relied_on = std::exchange(entry.relied_on, {});
      const auto brought = bring_texts(entry, relied_on, texts, {&from_}, report_.skipped);
      if (!brought) return tl::unexpected(brought.error());
    }
    return store(to_, entries, IfPresent::keep);
  }

  /// Stores each entry that fits, where the whole batch does not.
  Result<void> store_singly() {
    for (PreparedEntry& entry : batch_.entries) {
      const auto stored = store_whole({&entry, 1});
      if (stored) {
        ++(*stored != 0 ? report_.added : report_.present);
      } else if (stored.error().code == ErrorCode::too_large) {
        report_.skipped.push_back({"entry", entry.key.hex(), "is too large for the size cap"});
      } else {
        return tl::unexpected(stored.error());
      }
    }
    batch_ = {};
    return {};
  }

  Cache::Impl& to_;
  Cache::Impl& from_;
  Batch batch_;
  ImportReport report_;
};

}  // namespace

Result<ExportReport> Cache::export_bundle(const fs::path& bundle, const ExportOptions& options) {
  const CallerState caller;
  std::vector<Impl*> sources{impl_.get()};
  for (const Cache* also : options.also) sources.push_back(also->impl_.get());
  ExportReport report;
  std::vector<Located> rows;
  for (Impl* source : sources) {
    if (auto checked = check_place(bundle, source->file()); !checked) {
      return tl::unexpected(checked.error());
    }
    const auto located = locate_entries(*source, report.skipped);
    if (!located) return tl::unexpected(located.error());
    rows.insert(rows.end(), located->begin(), located->end());
  }
  // Of entries of one key the bundle takes the first sound one, in the order in which the caller named the caches.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Located& a, const Located& b) { return a.key < b.key; });
  const auto file = BundleFile::begin(bundle);
  if (!file) return tl::unexpected(file.error());
  if (auto written = write_bundle(**file, rows, sources, options, report); !written) {
    return tl::unexpected(written.error());
  }
  const auto bytes = (*file)->publish();
  if (!bytes) return tl::unexpected(bytes.error());
  report.file_bytes = *bytes;
  return report;
}

Result<ImportReport> Cache::import(Cache& from) {
  const CallerState caller;
  if (!impl_->ensure_open()) return impl_->not_open();
  static_cast<void>(impl_->look_again());
  return Import(*impl_, *from.impl_).run();
}

}  // namespace kiln
