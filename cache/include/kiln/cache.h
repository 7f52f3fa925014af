#pragma once

// kiln/cache.h: the cache alone, without CUDA: enough for an inspector.
//
//     auto cache = kiln::Cache::open("/var/cache/engine", {.access = kiln::Cache::Access::read_only}).value();
//     const auto entries = cache.list().value();
//     for (const auto& entry : entries)
//       std::printf("%s %s %s\n", entry.key.hex().c_str(), entry.program.c_str(), entry.arch.c_str());

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/cache_trust.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/request.h"
#include "kiln/signing.h"

namespace kiln::storage {
struct Place;
}

namespace KILN_EXPORT kiln {

/// The texts that went into an entry which a trusted key has signed. Look-ups compare texts by XXH3, which finds damage and no
/// malice: another text of the same digest is made at will. So whoever accepts such an entry for texts of his own compares these.
class SignedTexts {
 public:
  /// Hashes are those of text_hash().
  [[nodiscard]] virtual bool is_source(const std::string& hash) const = 0;
  /// `hashes`: of the header of each look-up of the candidate's, in their order. An empty one stands for a header that is not
  /// here, and for one that was only asked for.
  [[nodiscard]] virtual bool are_headers(const std::vector<std::string>& hashes) const = 0;

 protected:
  SignedTexts() = default;
  SignedTexts(const SignedTexts&) = default;
  SignedTexts& operator=(const SignedTexts&) = default;
  ~SignedTexts() = default;
};

/// A stored entry as it stands before its image is read: what a look-up decides on.
struct Candidate {
  Digest key;
  const Toolchain& toolchain;   ///< The compiler that made it. Valid during the call.
  DependencySet& dependencies;  ///< Valid during the call; whoever accepts may move it away.
  const Witness*
      witness;  ///< For the include directories asked about; nullptr if none. Valid during the call.
  /// Where a trusted key has signed it; else nullptr. Valid during the call, and before the dependencies are moved away.
  const SignedTexts* signed_texts = nullptr;
};

/// A text by its content: a source or a header.
struct Text {
  Digest digest;
  std::string_view bytes;
};

/// All that one entry consists of. Borrows what it points to during put().
struct NewEntry {
  const Request& request;
  const DependencySet& dependencies;
  const Toolchain& toolchain;
  const Artifact& artifact;
  const Witness* witness = nullptr;
  std::vector<Text>
      texts;  ///< The source and each header read, so that the cache is its own manifest.
  /// What the image tells of the artifact's kernels, one each in their order; nullptr where nobody has read it.
  const std::vector<KernelCode>* code = nullptr;
};

/// An entry as a person lists it.
struct EntrySummary {
  Digest key;
  std::string program;
  std::string engine;  ///< Of the request; empty where it names none.
  std::string arch;
  std::string kind;
  std::string toolchain;
  std::uint64_t image_bytes = 0;
  std::uint64_t stored_bytes = 0;  ///< Of the row's compressed payload.
  std::uint64_t kernels = 0;
  std::uint64_t compile_us = 0;
  std::int64_t created = 0;  ///< Seconds since 1970; 0 in a bundle.
  bool pinned = false;
  /// Of what was asked for. Entries that share it differ in their headers or in their compiler.
  Digest request;
  /// What was stored in the cache since this entry's use was last marked. A use is marked anew once that has come to an
  /// eighth of the size cap. When room is needed, the entry with the most goes first. Bytes; 0 in a bundle.
  std::uint64_t stored_since_use = 0;
};

/// All kernels of one entry.
struct EntryKernels {
  Digest key;
  std::vector<ListedKernel> kernels;
};

/// Everything stored of one entry.
struct StoredEntry {
  EntrySummary summary;
  Request request;
  DependencySet dependencies;
  Toolchain toolchain;
  Artifact artifact;
};

/// What was asked for when an entry was made, and which compiler answered: all but headers and image.
struct StoredRequest {
  Digest key;
  Toolchain toolchain;
  Request request;
};

/// How far alike() goes, so that a large cache does not make it slow.
struct AlikeLimits {
  std::size_t entries = 1'000;  ///< Of one source, and of one program name.
  std::size_t rows = SIZE_MAX;  ///< Looked at for the program's name, the newest first.
};

/// What a cache holds, in sum. Bytes.
struct CacheStatistics {
  std::uint64_t entries = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t texts = 0;
  std::uint64_t text_bytes = 0;         ///< Before compression.
  std::uint64_t stored_text_bytes = 0;  ///< After.
  std::uint64_t dependency_sets = 0;
  std::uint64_t file_bytes = 0;  ///< Of the database file.
  std::uint64_t compile_us = 0;  ///< What compiling all of it took.
};

/// What a cache counts. A miss has one reason, an error one kind.
enum class Counter : std::uint8_t {
  hits_memory,        ///< Of the layer above, as told by count_hit().
  hits_local,         ///< Served by a cache.
  hits_bundle,        ///< Served by a bundle.
  hits_remote,        ///< Of a store that machines share, as told by count_hit().
  misses_absent,      ///< Nothing was stored for the request.
  misses_unfit,       ///< What was stored did not fit: another compiler, a header that changed.
  misses_untrusted,   ///< What was stored comes from others, and no trusted key has signed it.
  misses_damaged,     ///< What was stored failed its checksum or did not decode.
  misses_unreadable,  ///< SQLite could not read it.
  damaged_rows,       ///< Such rows met, and removed where that may be.
  stores,
  evictions,       ///< Entries removed to make room.
  refused_images,  ///< Entries dropped because the driver did not take their image.
  too_large,       ///< Entries served and not stored, because the size cap leaves no room for them.
  errors_full,     ///< No room on the disk.
  errors_locked,   ///< Somebody else held a lock for longer than the patience.
  errors_denied,   ///< Read-only, no rights.
  errors_corrupt,  ///< SQLite found its own structure damaged.
  errors_io,       ///< Any other failure of the filesystem or of SQLite.
  generations,     ///< New generations begun because the current file was corrupt or foreign.
  reopened,        ///< The file had gone or been replaced while it was open.
  saved_us,        ///< Compile time that hits saved. Microseconds.
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::saved_us) + 1;

/// The counter's own word, e.g. "misses_absent". Static lifetime.
[[nodiscard]] const char* to_string(Counter counter) noexcept;

/// One number for each Counter.
struct CacheCounters {
  std::array<std::uint64_t, counter_count> values{};

  bool operator==(const CacheCounters&) const = default;

  [[nodiscard]] std::uint64_t operator[](Counter counter) const noexcept {
    return values[static_cast<std::size_t>(counter)];
  }
  [[nodiscard]] std::uint64_t hits() const noexcept;
  [[nodiscard]] std::uint64_t misses() const noexcept;
  [[nodiscard]] std::uint64_t errors() const noexcept;
};

/// What was counted on one day. Days are counted from 1970-01-01, in UTC.
struct DayCounters {
  std::int64_t day = 0;
  CacheCounters counters;

  bool operator==(const DayCounters&) const = default;
};

/// Why find() gave nothing; the nearest there was, and so the greatest.
enum class MissReason { none, absent, unfit, untrusted, damaged, unreadable };

/// Called with a line fit for a person when a Cache meets a fault that it lives with, once for each kind
/// of fault. Runs on the thread that met it; must not call back into the cache.
using FaultCallback = std::function<void(std::string_view)>;

/// How a cache is opened.
struct CacheOptions {
  enum class Access {
    read_write,  ///< Creates the directory and the file, for the user or the group, where there are none.
    read_only,  ///< Creates and changes nothing, but for taking back what a writer left that died.
  };

  Access access = Access::read_write;
  /// What the database may grow to; the least recently used entries make room. Bytes.
  std::uint64_t max_bytes = std::uint64_t{5} << 30;
  CacheTrust trust = {};
  /// Where there are any, nothing serves that others may have written and none of these signed: each entry of a bundle
  /// in a file, of another user's directory, and of one that others own a part of or may write. In return it does not
  /// matter who owns such a file, or may write it. A private directory of this user's, a group's cache, and a bundle
  /// in the program's own memory need no signature.
  ///
  /// What a trusted key has signed, in this user's own cache too, gives its texts to compare (Candidate::signed_texts).
  ///
  /// list(), entry(), artifact() and text() are for looking at what is there, and ask for nothing. What asks for proof is only
  /// read, and each read of it may take a second of the processor's time: a file can be made to take for ever.
  TrustedKeys trusted_keys = {};
  /// A directory was shipped: it is taken for the work of others, whoever owns it now.
  bool shipped = false;
  /// What is put is signed with it.
  SigningKey signing_key = {};
  /// Images that are put are stored as they are: they are read faster, and take some times the room. Both kinds are read.
  bool plain_images = false;
  FaultCallback on_fault = {};
  /// For tools, whose processes are short: what one counted that only hit goes into a small file beside the
  /// database when it closes, unless somebody else writes for longer than 50 ms. The database stays as it is.
  bool tells_hits = false;
};

/// Where a cache that is named by a directory keeps its database.
struct CachePlace {
  std::filesystem::path directory;  ///< Empty where this machine has no place for it.
  std::string file_system;          ///< Of the directory that was named, e.g. "ext", "nfs".
  /// Why that is not the directory that was named, for a person; empty where it is.
  std::string why_elsewhere;
};

/// No SQLite file is safe where a lock may hold on one machine alone, as on network filesystems. There a cache lies on
/// the machine instead: in a folder of its own below `/var/tmp/kiln-UID`, or, where that cannot be had,
/// `$XDG_RUNTIME_DIR/kiln`. Cache::open() goes there, and takes from there what is the user's own or the group's,
/// whatever else is trusted. Makes nothing.
[[nodiscard]] CachePlace place_of_cache(const std::filesystem::path& directory,
                                        const CacheTrust& trust = {});

/// One process's (or thread's) turn to make what several ask for at one time. The turn ends with the
/// object, and the kernel ends it when its holder dies.
class Turn {
 public:
  Turn(Turn&&) noexcept;
  Turn& operator=(Turn&&) = delete;
  ~Turn();

  /// Whether somebody else had the turn before, so that it is worth looking again.
  [[nodiscard]] bool waited() const noexcept;
  /// How a turn failed that began while this one was waited for; nothing where none failed. One that was had before may
  /// have gone by what was mended since.
  [[nodiscard]] const std::optional<Error>& shared_failure() const noexcept;
  /// False where others may have the turn too: the patience ended first, or locks do not work here.
  [[nodiscard]] bool exclusive() const noexcept;
  /// Tells those how it failed who waited when it began, and nobody later.
  void fail(const Error& error) noexcept;

  class KILN_INTERNAL Impl;
  explicit Turn(std::unique_ptr<Impl> impl) noexcept;

 private:
  std::unique_ptr<Impl> impl_;
};

/// What collect() shall remove. Pinned entries stay.
struct GcOptions {
  std::optional<std::uint64_t> max_bytes = {};  ///< Least recently used first, down to this.
  std::optional<std::chrono::seconds> older_than =
      {};  ///< Made longer ago than this, by the clock.
  bool dry_run = false;
};

/// What was removed, or would have been.
struct GcReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< Of their payloads, as stored.
};

/// Something that is not as kiln wrote it, or that belongs to no entry, as damage may leave behind: that
/// does no harm but takes room, until collect() removes it.
struct Finding {
  /// "entry", "text", "dependency set", "witness", "kernels", "signature", "mark", "link" (of a set to a text), "state",
  /// "structure" or "file".
  std::string what;
  std::string name;     ///< A key, a digest or a path.
  std::string problem;  ///< In words.
};

struct VerifyReport {
  std::uint64_t entries = 0;  ///< Looked at.
  std::uint64_t texts = 0;
  std::uint64_t dependency_sets = 0;
  std::vector<Finding> findings;
  /// How often an entry names a source, or a dependency set a header, that is not kept, or not for it, as an export without
  /// sources leaves them out. What is served is the same without them. No findings.
  std::uint64_t texts_left_out = 0;
  /// Files of earlier generations, kept aside and not looked at. No findings.
  std::vector<std::filesystem::path> set_aside;
};

struct SignatureReport {
  std::uint64_t entries = 0;  ///< Looked at.
  std::map<std::string, std::uint64_t>
      signers;  ///< How many entries each key vouches for, by its name.
  std::vector<Finding>
      findings;  ///< Entries that no trusted key has signed, or otherwise than they are.
};

class Cache;

struct ExportOptions {
  std::optional<std::vector<Digest>> keys = {};  ///< Only these entries.
  bool without_sources =
      false;  ///< Leaves out sources and headers, for those who must not ship them.
  /// Other caches and bundles whose entries go into the same bundle. Of entries of one key the first
  /// sound one is taken.
  std::vector<Cache*> also = {};
  /// Signs each entry, beside the signatures that it has. What it cannot sign, for want of a text, is a finding.
  SigningKey signing_key = {};
};

struct ExportReport {
  std::uint64_t entries = 0;
  std::uint64_t signed_entries = 0;  ///< With ExportOptions::signing_key.
  std::uint64_t file_bytes = 0;
  std::vector<Finding> skipped;  ///< Damaged rows, left out; an entry goes without a damaged text.
};

struct ImportReport {
  std::uint64_t added = 0;
  std::uint64_t present = 0;     ///< Were there already.
  std::vector<Finding> skipped;  ///< Damaged rows, left out.
};

/// The files that a cache keeps in its folder have names that begin so. Nothing else there should.
inline constexpr std::string_view cache_file_prefix = "kernels.v";

/// A persistent store of artifacts: one SQLite file, `kernels.v1.db` (or a later generation of it),
/// in a private directory; or a bundle, which is such a file made to be shipped.
///
/// Thread safety: all functions may be called from any thread. Processes share one directory freely.
/// A child that was forked opens the file anew at its first call and leaves its parent's handle alone.
/// Ownership: movable; closes its file on destruction. Nothing throws. A hit writes nothing.
class Cache {
 public:
  using Access = CacheOptions::Access;

  /// Opens the cache in `directory`, an absolute path. A file that is corrupt or none of kiln's is
  /// left as it is, and a new generation takes over (unless read-only). Waits up to 15 s for writers.
  /// Errors: cache_unusable, naming the path and what is the matter with it: not a directory, no
  /// rights, another owner, writable by others, a symlink; not_found where there is nothing and
  /// access is read-only. What is refused is left as it was.
  [[nodiscard]] static Result<Cache> open(const std::filesystem::path& directory,
                                          CacheOptions options = {});

  /// Opens a bundle, read-only. It must belong to the user or to root, and others must not be able to write
  /// to it, but for what `trust` says. Of the options only `trust` and `on_fault` count.
  /// Errors: not_found; cache_unusable, also for what is no bundle.
  [[nodiscard]] static Result<Cache> open_bundle(const std::filesystem::path& file,
                                                 CacheOptions options = {});

  /// Opens a bundle that lies in memory, such as one that was linked into the program. The bytes are
  /// borrowed and must outlive the cache. No file is touched. Errors: cache_unusable.
  [[nodiscard]] static Result<Cache> open_bundle(std::span<const std::byte> bundle,
                                                 CacheOptions options = {});

  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  /// Flushes use marks and counters where that is due, unless somebody else is writing.
  ~Cache();

  /// Whether entries may be put. A directory of another user who is trusted is only read: his own processes could not
  /// use what this one makes there. A group's is written by every member.
  [[nodiscard]] bool writable() const noexcept;

  /// The path of the database file in use; empty for a bundle in memory.
  [[nodiscard]] std::filesystem::path file() const;

  /// Gives the first entry of `request` that `accept` takes; nothing is a miss. `roots` picks the
  /// witness that candidates carry. The artifact's origin is `local`, or `bundle`. A damaged row is a
  /// counted miss and is removed. No lock is held while `accept` runs; it must not throw.
  /// Who wants to know `why_not` may ask in several ways, and counts the miss: count_miss().
  [[nodiscard]] std::optional<Artifact> find(const Request& request, const Digest& roots,
                                             const std::function<bool(const Candidate&)>& accept,
                                             MissReason* why_not = nullptr);

  /// Gives what find() would give, and counts, marks and removes nothing.
  [[nodiscard]] std::optional<Artifact> peek(const Request& request, const Digest& roots,
                                             const std::function<bool(const Candidate&)>& accept,
                                             MissReason* why_not = nullptr);

  /// The entries that have something in common with this request, each once: those of the request
  /// itself, then those of its source (both by an index), then those of its program's name (a read of
  /// small columns, in steps that hold up no writer); in each group the newest first. Damaged rows are
  /// left out. None where proof is asked for (CacheOptions::trusted_keys): nobody vouches for what is only alike.
  /// Errors: cache_unusable, io_failed.
  [[nodiscard]] Result<std::vector<StoredRequest>> alike(const Request& request,
                                                         const AlikeLimits& limits = {});

  /// The headers of one entry, without its image. Errors: not_found; io_failed for a damaged one.
  [[nodiscard]] Result<DependencySet> dependencies(const Digest& key);

  /// Stores an entry in one transaction; replaces one of the same key. Makes room by evicting.
  /// Errors: cache_unusable (read-only), too_large (nothing can make room for it), io_failed,
  /// invalid_argument (a text that has another digest); the cache is then as it was.
  [[nodiscard]] Outcome put(const NewEntry& entry);

  /// For an entry whose image the driver refuses: this object does not serve it again, and drops it from
  /// the file where it may write there. A put of the same key takes this back.
  void forget(const Digest& key);

  /// Counts a hit of a layer that has no counters of its own, such as memory.
  void count_hit(Origin origin, std::uint64_t compile_us) noexcept;

  /// Counts a request that was missed for this reason; `none` counts nothing.
  void count_miss(MissReason reason) noexcept;

  /// Waits until nobody else, in any process that shares this directory, has the turn for `what`; at
  /// most `patience`, and less for a holder that is seen to be stopped. Never fails: where locks do
  /// not work, everybody has the turn. A bundle or a read-only cache gives it at once. `stop` ends the
  /// waiting within some 20 ms, without the turn.
  [[nodiscard]] Turn take_turn(const Digest& what, std::chrono::milliseconds patience,
                               std::stop_token stop = {});

  /// All entries, in key order. Read in small steps that hold up no writer.
  [[nodiscard]] Result<std::vector<EntrySummary>> list();

  /// The kernels of all entries that tell them without their images, in no order; of the others artifact() does: of what
  /// an earlier kiln stored, or who gave no NewEntry::code, and of what is damaged. Read in small steps that hold up no
  /// writer. Errors: cache_unusable, io_failed.
  [[nodiscard]] Result<std::vector<EntryKernels>> kernels();

  /// The key of the one entry whose key begins with these hexadecimal digits.
  /// Errors: not_found (none), ambiguous (the message lists the first few), invalid_argument.
  [[nodiscard]] Result<Digest> resolve(std::string_view key_prefix);

  /// One whole entry, checked. Errors: not_found; io_failed for a damaged row, which is left alone.
  [[nodiscard]] Result<StoredEntry> entry(const Digest& key);

  /// The artifact of one entry, without a look at its headers: what many entries are listed by. Any
  /// thread decompresses for itself. Errors: as entry().
  [[nodiscard]] Result<Artifact> artifact(const Digest& key);

  /// The same for who does more than look at it: where proof is asked for (CacheOptions::trusted_keys), only of an entry that a
  /// trusted key has signed. Errors: as entry(); cache_unusable where none has.
  [[nodiscard]] Result<Artifact> proven_artifact(const Digest& key);

  /// A stored source or header text. Errors: not_found; io_failed for a damaged one.
  [[nodiscard]] Result<std::string> text(const Digest& digest);

  [[nodiscard]] Result<CacheStatistics> statistics();

  /// What this object has counted since it was opened.
  [[nodiscard]] CacheCounters counters() const noexcept;

  /// What all objects of all processes have counted since the cache was made or its history reset. A process
  /// adds its counters when it stores, and when it closes and has counted anything but hits. A process that
  /// only hits adds them at most once a day, so that a hit writes nothing, unless CacheOptions::tells_hits.
  /// What tools told in a file that is damaged by now is left out: verify() names the file. Errors:
  /// cache_unusable, io_failed.
  [[nodiscard]] Result<CacheCounters> history();
  /// The same by the day on which it was told, for each of the last 366 days that has anything, the earliest first.
  [[nodiscard]] Result<std::vector<DayCounters>> history_by_day();
  [[nodiscard]] Outcome reset_history();

  /// Keeps an entry from being evicted or collected, or lets it go again. Errors: not_found,
  /// cache_unusable (read-only), io_failed.
  [[nodiscard]] Outcome pin(const Digest& key, bool pinned);

  /// Removes entries and what only they needed, in small transactions, and what belongs to no entry;
  /// gives room back to the filesystem. On a full disk too, if that is ext or tmpfs: there a process that is killed amid a
  /// transaction may leave a file that counts as damaged. Errors: cache_unusable (read-only), io_failed.
  [[nodiscard]] Result<GcReport> collect(const GcOptions& options);

  /// Removes all entries, pinned ones too; where the file is corrupt, begins a new generation. Errors: as collect().
  [[nodiscard]] Result<GcReport> clear();

  /// Removes the entries of these keys, pinned ones too, as far as there are any. Errors: as collect().
  [[nodiscard]] Result<GcReport> remove(std::span<const Digest> keys);

  /// Looks at everything stored and changes nothing; in small steps that hold up no writer. Checksums
  /// and structure; `deep` also decompresses and decodes each row and compares it with what its key
  /// and digest say. It accepts any times, use marks, pins and counters that can be. Of a file of more than
  /// 64 MiB it compares tables and indexes with each other and leaves unused pages out.
  /// Errors: io_failed where it cannot be read at all.
  [[nodiscard]] Result<VerifyReport> verify(bool deep);

  /// Looks whether each entry is as one of these keys signed it: also its source and headers, as far as they are
  /// stored. Decodes nothing of an entry before a signature is found right. Errors: io_failed where it cannot be read
  /// at all.
  [[nodiscard]] Result<SignatureReport> verify_signatures(const TrustedKeys& keys);

  /// The names of the keys that say that they signed this entry; nobody has checked that they did. Errors: as entry().
  [[nodiscard]] Result<std::vector<std::string>> signers(const Digest& key);

  /// Writes a bundle of all entries: rebuilt in key order without times, marks and pins, so that the
  /// same content gives the same bytes (of one version of SQLite); appears at `bundle` whole or not at
  /// all, synced, readable by everybody (0644). Holds up no writer.
  /// Errors: io_failed, naming the path; invalid_argument for a path that is a cache's own file, or is
  /// named like one, and for a file that is no bundle.
  [[nodiscard]] Result<ExportReport> export_bundle(const std::filesystem::path& bundle,
                                                   const ExportOptions& options = {});

  /// Adds the entries of another cache or bundle that are not here, a few in a transaction, and makes
  /// room for them as put() does. After a failure those before it have been added. Errors: as put().
  [[nodiscard]] Result<ImportReport> import(Cache& from);

  class KILN_INTERNAL Impl;
  /// For what is declared beside it: kiln/exchange.h.
  [[nodiscard]] KILN_INTERNAL Impl& impl() noexcept { return *impl_; }

 private:
  explicit Cache(std::unique_ptr<Impl> impl) noexcept;
  static Result<Cache> open_place(storage::Place place, CacheOptions options);
  std::unique_ptr<Impl> impl_;
};

/// The directory that is used when nothing says otherwise: `$XDG_CACHE_HOME/kiln`, else
/// `$HOME/.cache/kiln`. Errors: cache_unusable when neither is set to an absolute path.
[[nodiscard]] Result<std::filesystem::path> default_cache_directory();

}  // namespace kiln
