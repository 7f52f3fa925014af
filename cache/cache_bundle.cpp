#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "file/schema.h"
#include "rows/bundle_file.h"
#include "rows/entry_reader.h"
#include "rows/entry_remover.h"
#include "rows/entry_writer.h"
#include "system/no_fork.h"

namespace kiln {

using storage::BundleFile;
using storage::PreparedEntry;
using storage::PreparedText;
using storage::RawEntry;
using storage::Statement;

struct Cache::Impl::Located {
  Digest key;
  std::int64_t id = 0;
  Impl* source = nullptr;
};

struct Cache::Impl::Batch {
  std::vector<PreparedEntry> entries = {};
  std::set<Digest> texts = {};  ///< That come with them.
  Impl* source = nullptr;
  std::uint64_t bytes = 0;
};

namespace {

namespace fs = std::filesystem;

constexpr int rows_in_a_step = 500;

/// An import's transaction holds so many entries or bytes, whichever comes first.
constexpr std::size_t entries_in_a_step = 32;
constexpr std::uint64_t bytes_in_a_step = std::uint64_t{16} << 20;

constexpr const char* damaged = "is damaged";
constexpr const char* unreadable = "cannot be read: the database is corrupt there";

/// What a cache's own files are called: a bundle of such a name would be taken for a cache.
constexpr std::string_view own_prefix = "kernels.v";

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

}  // namespace

/// All entries with the ids that they have now.
Result<std::vector<Cache::Impl::Located>> Cache::Impl::locate_entries(
    std::vector<Finding>& skipped) {
  if (!ensure_open()) return not_open();
  std::vector<Located> found;
  std::int64_t after = 0;
  for (int rows = rows_in_a_step; rows == rows_in_a_step;) {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement row(hold.connection(),
                  "SELECT id, key FROM entries WHERE id > ? ORDER BY id LIMIT ?");
    row.bind_integer(1, after).bind_integer(2, rows_in_a_step);
    int code = row.step();
    for (rows = 0; code == SQLITE_ROW; code = row.step(), ++rows) {
      const std::int64_t id = row.integer(0);
      if (id <= after) {
        return fail(ErrorCode::io_failed,
                    fmt::format("cache '{}': its rows are out of order; it is damaged",
                                hold.database().file.string()));
      }
      after = id;
      if (const auto key = row.digest(1)) {
        found.push_back({*key, after, this});
      } else {
        skipped.push_back({"entry", fmt::format("row {}", after), damaged});
      }
    }
    if (code != SQLITE_DONE) return failure(hold, "listing");
  }
  std::sort(found.begin(), found.end(),
            [](const Located& a, const Located& b) { return a.key < b.key; });
  return found;
}

/// What a scan has seen and a search does not find has gone meanwhile, or a page is damaged.
Result<std::optional<PreparedEntry>> Cache::Impl::lost(const Located& at,
                                                       std::vector<Finding>& skipped) {
  const auto there = has_entry(at.key);
  if (!there) return tl::unexpected(there.error());
  if (*there || place_.kind != storage::Place::Kind::directory) {
    skipped.push_back({"entry", at.key.hex(), unreadable});
  }
  return std::optional<PreparedEntry>();
}

/// Nothing for a damaged entry, and for one that has gone meanwhile.
Result<std::optional<PreparedEntry>> Cache::Impl::pick_up(const Located& at,
                                                          std::vector<Finding>& skipped) {
  std::optional<RawEntry> raw;
  {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement row(hold.connection(), "SELECT " KILN_ENTRY_COLUMNS " FROM entries WHERE id = ?");
    const int code = row.bind_integer(1, at.id).step();
    if (code == SQLITE_ROW) raw = storage::read_row(hold.connection(), row, nullptr);
    if (!raw && code != SQLITE_DONE) {
      auto failed = failure(hold, "reading an entry");
      if (!storage::is_corrupt(failed.value().vendor_code)) return failed;
      skipped.push_back({"entry", at.key.hex(), unreadable});
      return std::optional<PreparedEntry>();
    }
  }
  // Its id may be that of another entry by now.
  if (!raw || raw->key != at.key) return lost(at, skipped);
  auto entry = storage::prepare_again(std::move(*raw));
  if (!entry) skipped.push_back({"entry", at.key.hex(), damaged});
  return entry;
}

/// Nothing for a damaged text, and for one that is not there.
Result<std::optional<PreparedText>> Cache::Impl::pick_up_text(const Digest& digest,
                                                              std::vector<Finding>& skipped) {
  std::string frame;
  {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement row(hold.connection(), "SELECT frame FROM texts WHERE digest = ?");
    const int code = row.bind_blob(1, digest.view()).step();
    if (code == SQLITE_DONE) return std::optional<PreparedText>();
    if (code != SQLITE_ROW) {
      auto failed = failure(hold, "reading a text");
      if (!storage::is_corrupt(failed.value().vendor_code)) return failed;
      skipped.push_back({"text", digest.hex(), unreadable});
      return std::optional<PreparedText>();
    }
    frame = row.blob(0);
  }
  auto text = storage::prepare_again(digest, frame);
  if (!text) skipped.push_back({"text", digest.hex(), damaged});
  return text;
}

Result<ExportReport> Cache::Impl::export_bundle(const fs::path& bundle,
                                                const ExportOptions& options) {
  std::vector<Impl*> sources{this};
  for (const Cache* also : options.also) sources.push_back(also->impl_.get());
  ExportReport report;
  std::vector<Located> rows;
  for (Impl* source : sources) {
    if (auto checked = check_place(bundle, source->file()); !checked) {
      return tl::unexpected(checked.error());
    }
    const auto located = source->locate_entries(report.skipped);
    if (!located) return tl::unexpected(located.error());
    rows.insert(rows.end(), located->begin(), located->end());
  }
  // Of entries of one key the first sound one goes, in the order in which the caches were named.
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

/// Whatever is written follows from the entries and texts in key order alone, so that the same content
/// gives the same bytes: dependency sets and texts come when the first entry needs them.
Result<void> Cache::Impl::write_bundle(BundleFile& file, const std::vector<Located>& rows,
                                       const std::vector<Impl*>& sources,
                                       const ExportOptions& options, ExportReport& report) {
  storage::EntryWriter writer(file.connection());
  std::set<Digest> texts;
  std::optional<Digest> written;
  for (const Located& row : rows) {
    if (written == row.key) continue;
    auto entry = row.source->pick_up(row, report.skipped);
    if (!entry) return tl::unexpected(entry.error());
    if (!*entry) continue;
    (*entry)->created = 0;
    (*entry)->compile_us = 0;
    for (const Digest& digest : texts_of(**entry)) {
      if (options.without_sources || !texts.insert(digest).second) continue;
      auto text = first_text(sources, digest, report.skipped);
      if (!text) return tl::unexpected(text.error());
      if (*text) (*entry)->texts.push_back(std::move(**text));
    }
    const system::NoFork no_fork;
    if (!writer.write_texts((*entry)->texts) || !writer.write(**entry)) return file.failure();
    written = row.key;
    ++report.entries;
  }
  return {};
}

/// The text from the first of these caches that has it sound.
Result<std::optional<PreparedText>> Cache::Impl::first_text(const std::vector<Impl*>& sources,
                                                            const Digest& digest,
                                                            std::vector<Finding>& skipped) {
  for (Impl* source : sources) {
    auto text = source->pick_up_text(digest, skipped);
    if (!text || *text) return text;
  }
  return std::optional<PreparedText>();
}

Result<ImportReport> Cache::Impl::import(Impl& from) {
  if (!ensure_open()) return not_open();
  static_cast<void>(look_again());
  ImportReport report;
  const auto rows = from.locate_entries(report.skipped);
  if (!rows) return tl::unexpected(rows.error());
  Batch batch;
  for (const Located& row : *rows) {
    if (auto added = add_to(batch, row, report); !added) return tl::unexpected(added.error());
    const bool full = batch.entries.size() == entries_in_a_step || batch.bytes >= bytes_in_a_step;
    if (!full && &row != &rows->back()) continue;
    if (auto stored = store(batch, report); !stored) return tl::unexpected(stored.error());
  }
  return report;
}

/// Picks up an entry that is not here, with those of its texts that are not here either.
Result<void> Cache::Impl::add_to(Batch& batch, const Located& row, ImportReport& report) {
  const auto present = has_entry(row.key);
  if (!present) return tl::unexpected(present.error());
  if (*present) {
    ++report.present;
    return {};
  }
  auto entry = row.source->pick_up(row, report.skipped);
  if (!entry) return tl::unexpected(entry.error());
  if (!*entry) return {};
  const auto missing = texts_missing(**entry);
  if (!missing) return tl::unexpected(missing.error());
  batch.source = row.source;
  for (const Digest& digest : *missing) {
    if (!batch.texts.insert(digest).second) continue;
    auto text = row.source->pick_up_text(digest, report.skipped);
    if (!text) return tl::unexpected(text.error());
    if (*text) (*entry)->texts.push_back(std::move(**text));
  }
  batch.bytes += (*entry)->bytes();
  batch.entries.push_back(std::move(**entry));
  return {};
}

Result<void> Cache::Impl::store(Batch& batch, ImportReport& report) {
  if (batch.entries.empty()) return {};
  const auto stored = store_whole(batch, batch.entries, report);
  if (!stored && stored.error().code == ErrorCode::too_large) return store_singly(batch, report);
  if (!stored) {
    static_cast<void>(leave_corrupt_file());
    return tl::unexpected(stored.error());
  }
  report.added += *stored;
  // Somebody else was faster with the others.
  report.present += batch.entries.size() - *stored;
  batch = {};
  return {};
}

/// Somebody else may have cleared texts that were here when the batch was picked up: then it brings them along.
Result<std::uint64_t> Cache::Impl::store_whole(Batch& batch, std::span<PreparedEntry> entries,
                                               ImportReport& report) {
  auto stored = store(entries, IfPresent::keep);
  if (stored || stored.error().code != ErrorCode::not_found) return stored;
  std::set<Digest> brought;
  for (PreparedEntry& entry : entries) {
    for (const Digest& digest : std::exchange(entry.relied_on, {})) {
      if (!brought.insert(digest).second) continue;
      auto text = batch.source->pick_up_text(digest, report.skipped);
      if (!text) return tl::unexpected(text.error());
      if (*text) entry.texts.push_back(std::move(**text));
    }
  }
  return store(entries, IfPresent::keep);
}

/// What fits of a batch that does not.
Result<void> Cache::Impl::store_singly(Batch& batch, ImportReport& report) {
  for (PreparedEntry& entry : batch.entries) {
    const auto stored = store_whole(batch, {&entry, 1}, report);
    if (stored) {
      ++(*stored != 0 ? report.added : report.present);
    } else if (stored.error().code == ErrorCode::too_large) {
      report.skipped.push_back({"entry", entry.key.hex(), "is too large for the size cap"});
    } else {
      return tl::unexpected(stored.error());
    }
  }
  batch = {};
  return {};
}

Result<bool> Cache::Impl::has_entry(const Digest& key) {
  Hold hold(*this);
  if (!hold) return not_open();
  Statement row(hold.connection(), "SELECT 1 FROM entries WHERE key = ?");
  const int code = row.bind_blob(1, key.view()).step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return failure(hold, "looking for an entry");
  return code == SQLITE_ROW;
}

/// Those that are here are noted in the entry.
Result<std::vector<Digest>> Cache::Impl::texts_missing(PreparedEntry& entry) {
  std::vector<Digest> missing;
  Hold hold(*this);
  if (!hold) return not_open();
  for (const Digest& digest : texts_of(entry)) {
    const auto stored = storage::has_sound_text(hold.connection(), digest);
    if (!stored) return failure(hold, "looking for a text");
    (*stored ? entry.relied_on : missing).push_back(digest);
  }
  return missing;
}

}  // namespace kiln
