#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "cache_store.h"
#include "kiln/caller_state.h"
#include "rows/bundle_file.h"
#include "rows/entry_writer.h"
#include "signing/signature.h"
#include "system/no_fork.h"

namespace kiln {

using storage::BundleFile;
using storage::PreparedEntry;

namespace {

namespace fs = std::filesystem;

/// An import stores at most so many entries in a transaction, and no more once it has so many bytes.
constexpr std::size_t entries_in_a_batch = 32;
constexpr std::uint64_t bytes_in_a_batch = std::uint64_t{16} << 20;

/// The names of a cache's own files begin so: kiln would take a bundle of such a name for a cache.
constexpr std::string_view own_prefix = "kernels.v";

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

/// Adds those of these texts to the entry that are not in `brought` yet, each from the first cache that has it sound.
/// With `signed_ones`, only what still has the hash that it had when it was compared with what was signed: a stranger
/// may write meanwhile.
Result<void> bring_texts(PreparedEntry& entry, const std::vector<Digest>& texts,
                         std::set<Digest>& brought, const std::vector<Cache::Impl*>& sources,
                         TextHashes* signed_ones, std::vector<Finding>& skipped) {
  for (const Digest& digest : texts) {
    bool missing = brought.insert(digest).second;
    for (auto source = sources.begin(); missing && source != sources.end(); ++source) {
      auto text = pick_up_text(**source, digest, skipped);
      if (!text) return tl::unexpected(text.error());
      if (*text && signed_ones != nullptr && !signed_ones->is_still(**text)) text->reset();
      if (*text) entry.texts.push_back(std::move(**text));
      missing = !*text;
    }
  }
  return {};
}

/// Those of the caches from which anything may be taken as it is.
std::vector<Cache::Impl*> own_ones_of(const std::vector<Cache::Impl*>& caches) {
  std::vector<Cache::Impl*> own;
  std::ranges::copy_if(caches, std::back_inserter(own),
                       [](const Cache::Impl* cache) { return !cache->asks_for_proof(); });
  return own;
}

/// Whether all texts of an entry that was signed are there, as they were signed. Where they are not, none is taken.
bool has_signed_texts(const PickedUp& picked, TextHashes& hashes) {
  return picked.proof->covers_texts(picked.contents, std::ref(hashes));
}

/// Writes a bundle. The same content gives the same bytes, because the rows follow from the entries in key order alone: a
/// dependency set or a text is written when the first entry needs it.
class Export {
 public:
  Export(BundleFile& file, const std::vector<Cache::Impl*>& sources, const ExportOptions& options,
         ExportReport& report)
      : file_(file),
        writer_(file.connection()),
        own_sources_(own_ones_of(sources)),
        hashes_(own_sources_),
        options_(options),
        report_(report) {}

  Result<void> write(const std::vector<Located>& rows) {
    const auto with_contents = options_.signing_key.empty() ? WithContents::no : WithContents::yes;
    std::optional<Digest> written;
    for (const Located& row : rows) {
      if (written == row.key) continue;
      auto picked = pick_up(row, with_contents, report_.skipped);
      if (!picked) return tl::unexpected(picked.error());
      if (!*picked) continue;
      if (auto done = write(row, **picked); !done) return done;
      written = row.key;
    }
    return {};
  }

 private:
  Result<void> write(const Located& row, PickedUp& picked) {
    auto& entry = picked.entry;
    entry.created = 0;
    entry.compile_us = 0;
    const bool with_texts =
        !options_.without_sources && (!picked.proof || has_signed_texts(picked, hashes_of(row)));
    if (with_texts) {
      const auto sources = picked.proof ? std::vector{row.source} : own_sources_;
      auto brought = bring_texts(entry, texts_of(entry), texts_, sources,
                                 picked.proof ? &hashes_of(row) : nullptr, report_.skipped);
      if (!brought) return brought;
    }
    if (!options_.signing_key.empty()) add_signature(row, picked);
    const system::NoFork no_fork;
    if (!writer_.write_texts(entry.texts) || !writer_.write(entry)) return file_.failure();
    ++report_.entries;
    return {};
  }

  void add_signature(const Located& row, PickedUp& picked) {
    auto claim = claim_for(picked);
    auto& signatures = picked.entry.signatures;
    if (!claim) {
      report_.skipped.push_back(
          {"signature", row.key.hex(),
           "cannot be made: the entry's source or headers are not all there"});
    } else if (!picked.proof && storage::are_of_other_texts(signatures, *claim)) {
      report_.skipped.push_back(
          {"signature", row.key.hex(),
           "cannot be made: the source or a header that is here is another than the one that the "
           "entry's signature is for, of the same digest"});
    } else {
      signatures.push_back(storage::sign(std::move(*claim), options_.signing_key));
      ++report_.signed_entries;
    }
  }

  /// Of a stranger's entry, what the key that is trusted has said, and never what his texts say now.
  std::optional<storage::Claim> claim_for(const PickedUp& picked) {
    if (!picked.proof) return storage::claim_of(picked.contents, std::ref(hashes_));
    auto claim = picked.proof->claim();
    claim.kernels = picked.contents.said.kernels;
    return claim;
  }

  TextHashes& hashes_of(const Located& row) {
    if (!row.source->asks_for_proof()) return hashes_;
    return of_strangers_.try_emplace(row.source, std::vector{row.source}).first->second;
  }

  BundleFile& file_;
  storage::EntryWriter writer_;
  const std::vector<Cache::Impl*> own_sources_;
  TextHashes hashes_;
  std::map<Cache::Impl*, TextHashes> of_strangers_;
  const ExportOptions& options_;
  ExportReport& report_;
  std::set<Digest> texts_;
};

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
  Import(Cache::Impl& to, Cache::Impl& from)
      : to_(to), from_(from), hashes_({&from}), own_hashes_({&to}) {}

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
    auto picked = pick_up(row, WithContents::no, report_.skipped);
    if (!picked) return tl::unexpected(picked.error());
    if (!*picked) return {};
    auto& entry = (*picked)->entry;
    if (!(*picked)->proof || has_signed_texts(**picked, hashes_)) {
      const auto missing = texts_missing(to_, entry);
      if (!missing) return tl::unexpected(missing.error());
      if ((*picked)->proof && !relies_on_signed_texts(entry)) {
        report_.skipped.push_back(
            {"entry", row.key.hex(),
             "cannot be kept here: its source or a header is another than the "
             "one of the same digest that is here"});
        return {};
      }
      auto brought =
          bring_texts(entry, *missing, batch_.texts, {&from_}, signed_ones(), report_.skipped);
      if (!brought) return brought;
    } else if (has_any_text((*picked)->contents, hashes_)) {
      report_.skipped.push_back(
          {"entry", row.key.hex(),
           fmt::format("comes without its texts: they are not all there, or not as {} signed them",
                       (*picked)->proof->signer())});
    }
    batch_.bytes += entry.bytes();
    batch_.entries.push_back(std::move(entry));
    return {};
  }

  /// Whether the texts that are here already are those that were signed, and not only of their digests.
  bool relies_on_signed_texts(const PreparedEntry& entry) {
    return std::ranges::all_of(
        entry.relied_on, [&](const Digest& text) { return own_hashes_(text) == hashes_(text); });
  }

  /// Where all that is taken must be as it was signed.
  TextHashes* signed_ones() { return from_.asks_for_proof() ? &hashes_ : nullptr; }

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
      const auto brought =
          bring_texts(entry, relied_on, texts, {&from_}, signed_ones(), report_.skipped);
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
  TextHashes hashes_;
  TextHashes own_hashes_;
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
  if (auto written = Export(**file, sources, options, report).write(rows); !written)
    return tl::unexpected(written.error());
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
