#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache_arrival.h"
#include "cache_departure.h"
#include "cache_impl.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "rows/bundle_file.h"
#include "rows/entry_writer.h"
#include "system/no_fork.h"

namespace kiln {

using storage::BundleFile;

namespace {

namespace fs = std::filesystem;

/// A name that was forgotten on a command line makes a bundle of the next word.
bool holds_something_else(const fs::path& bundle) {
  constexpr std::string_view beginning = "SQLite format 3";
  constexpr std::size_t header_bytes = 100;
  constexpr std::size_t application_at = 68;
  std::error_code no_such_file;
  if (!fs::is_regular_file(bundle, no_such_file) || fs::file_size(bundle, no_such_file) == 0)
    return false;
  std::string header(header_bytes, '\0');
  std::ifstream(bundle, std::ios::binary).read(header.data(), header_bytes);
  return !header.starts_with(beginning) || header.substr(application_at, 4) != "kiln";
}

Outcome check_place(const fs::path& bundle, const fs::path& own_file) {
  std::error_code no_such_file;
  const auto there = fs::status(bundle, no_such_file);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is a device, a pipe or a socket, whose place a bundle would "
                            "take; name a file (`kiln export -` writes to standard output)",
                            bundle.string()));
  }
  const bool own = !own_file.empty() && fs::equivalent(bundle, own_file, no_such_file);
  if (!own && holds_something_else(bundle)) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' is there already and is no bundle, so it is not written over; give "
                    "the bundle another name, or remove that file first",
                    bundle.string()));
  }
  // kiln would take a bundle of such a name for a cache.
  if (!own && !bundle.filename().string().starts_with(cache_file_prefix)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("bundle '{}' would take the place of a cache's own file; give it another "
                          "name",
                          bundle.string()));
}

/// Writes a bundle. The same content gives the same bytes, because the rows follow from the entries in key order alone: a
/// dependency set or a text is written when the first entry needs it.
Outcome write_entries(BundleFile& file, const std::vector<Located>& rows, Departure& departure,
                      ExportReport& report) {
  storage::EntryWriter writer(file.connection());
  std::optional<Digest> written;
  for (const Located& row : rows) {
    if (written == row.key) continue;
    const auto leaving = departure.prepare(row);
    if (!leaving) return tl::unexpected(leaving.error());
    if (!*leaving) continue;
    const auto& entry = (*leaving)->entry;
    const system::NoFork no_fork;
    if (!writer.write_texts(entry.texts) || !writer.write(entry)) return file.failure();
    ++report.entries;
    if ((*leaving)->is_signed) ++report.signed_entries;
    written = row.key;
  }
  return {};
}

/// Brings the entries of `from` into `to`.
Outcome bring_entries(Cache::Impl& to, Cache::Impl& from, ImportReport& report) {
  CacheTexts texts({&from});
  Arrival arrival(to, texts, report);
  const auto rows = locate_entries(from, report.skipped);
  if (!rows) return tl::unexpected(rows.error());
  for (const Located& row : *rows) {
    const auto present = arrival.is_present(row.key);
    if (!present) return tl::unexpected(present.error());
    if (*present) continue;
    auto picked = pick_up(row, WithContents::no, report.skipped);
    if (!picked) return tl::unexpected(picked.error());
    if (!*picked) continue;
    if (auto taken = arrival.take(std::move(**picked)); !taken) return taken;
  }
  return arrival.finish();
}

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
    const auto located = options.keys ? locate_entries(*source, *options.keys)
                                      : locate_entries(*source, report.skipped);
    if (!located) return tl::unexpected(located.error());
    rows.insert(rows.end(), located->begin(), located->end());
  }
  // Of entries of one key the bundle takes the first sound one, in the order in which the caller named the caches.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Located& a, const Located& b) { return a.key < b.key; });
  const auto file = BundleFile::begin(bundle);
  if (!file) return tl::unexpected(file.error());
  Departure departure(sources, {options.without_sources, options.signing_key}, report.skipped);
  if (auto written = write_entries(**file, rows, departure, report); !written)
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
  ImportReport report;
  if (auto brought = bring_entries(*impl_, *from.impl_, report); !brought)
    return tl::unexpected(brought.error());
  return report;
}

}  // namespace kiln
