#pragma once

// kiln/exchange.h: entries on their way to other machines and from them.
//
//     auto cache = kiln::Cache::open("/var/cache/farm").value();
//     const auto store = kiln::open_file_store("/mnt/kernels", {.create = true}).value();
//     const auto pushed = kiln::push(cache, *store).value();
//     std::printf("%llu new\n", static_cast<unsigned long long>(pushed.added));

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/cache_trust.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/request.h"
#include "kiln/signing.h"

namespace KILN_EXPORT kiln {

/// What a store says of an object that answers a request.
struct StoreHint {
  std::string object;          ///< Its name.
  Result<std::string> record;  ///< As it was added; an error for one that cannot be read.
};

/// A store that machines share. Its objects never change, since each is named by the hash of its bytes: an entry, a text, a list
/// of texts. They may go at any time. Beside them lie hints: which entries answer a request. Hints may be lost, and may say
/// anything.
///
/// Nobody believes a store: what it gives is compared with its name, and with signatures where keys are trusted. So an
/// implementation only moves bytes, and bounds them. It serves one thread at a time.
class ObjectStore {
 public:
  /// Where there are any, only entries come out of it that one of these has signed, and texts as they were signed.
  [[nodiscard]] const TrustedKeys& trusted_keys() const noexcept { return trusted_keys_; }

  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  // Names are 64 hexadecimal digits. All errors name the store, and what to do.

  /// Nothing where there is no such object. Errors: too_large, for more than `most_bytes`; cache_unusable, for what belongs to
  /// others who are not trusted; io_failed.
  [[nodiscard]] virtual Result<std::optional<std::string>> get(const std::string& name,
                                                               std::uint64_t most_bytes) = 0;
  /// Whether it was not there before, as get() gives it; what is damaged is replaced. Appears whole or not at all. Errors:
  /// io_failed.
  [[nodiscard]] virtual Result<bool> put(const std::string& name, std::string_view bytes) = 0;

  /// What is hinted of a request, the latest first: no more than `most`, and no more than some megabytes. Errors: io_failed;
  /// too_large, for more than there can be.
  [[nodiscard]] virtual Result<std::vector<StoreHint>> hints(const Digest& request,
                                                             std::size_t most) = 0;
  /// Errors: io_failed.
  [[nodiscard]] virtual Outcome add_hint(const Digest& request, const std::string& name,
                                         std::string_view hint) = 0;
  /// All requests that there are hints for. Errors: as hints().
  [[nodiscard]] virtual Result<std::vector<Digest>> requests() = 0;

  /// Removes objects, those not used for longest first, and what was hinted of them. An object is used when somebody pushes it,
  /// or reads it who may mark that. The report's entries are objects. Errors: as hints(); what went before is gone.
  [[nodiscard]] virtual Result<GcReport> collect(const GcOptions& options) = 0;

 protected:
  explicit ObjectStore(TrustedKeys keys) noexcept : trusted_keys_(std::move(keys)) {}

 private:
  const TrustedKeys trusted_keys_;
};

/// Whose files serve, in a store that is a folder.
struct FileStoreOptions {
  /// Makes the store in this folder where there is none.
  bool create = false;
  /// And the folders above it, which nobody else may enter.
  bool parents = false;
  /// Changes nothing there, not even when an object was used last: put(), add_hint() and collect() fail with invalid_argument.
  bool read_only = false;
  /// From whom files are taken. With trusted keys, anybody's: then only signatures count.
  CacheTrust trust = {};
  TrustedKeys trusted_keys = {};
};

/// A store in a folder, which may lie on any filesystem that machines share: no file in it is ever locked or changed. Whoever may
/// write the folder may write all that is made in it, unless he may as one of its group and whoever makes it is none. No link is
/// followed below it. Errors: not_found, where there is no store and none is to be made; io_failed, also where the folder is not there
/// that it would lie in.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_file_store(
    const std::filesystem::path& folder, const FileStoreOptions& options = {});

/// An entry as a store gave it: checked, of somebody who is trusted, and kept nowhere yet.
struct OfferedEntry {
  Toolchain toolchain;
  DependencySet dependencies;
  Artifact artifact;
};

/// What a store says that it has for a request. A small value that may be kept and asked again; it outlives the store. Any thread
/// may use it.
class Offer {
 public:
  /// As of Cache::find().
  using Accept = std::function<bool(const Candidate&)>;

  /// The latest 64; where the store trusts keys, those of them that one has signed. Errors: as of ObjectStore::hints(), and
  /// invalid_setting where libsodium is missing.
  [[nodiscard]] static Result<std::vector<Offer>> list(ObjectStore& store, const Request& request);

  /// What its compile took, as whoever put it there says; 0 where nobody does. Microseconds; an hour at most.
  [[nodiscard]] std::uint64_t compile_us() const noexcept;

  /// Whether it may be what `accept` takes: by what the store says that it needs, and without anything signed.
  [[nodiscard]] bool may_serve(const Accept& accept) const;

  /// Reads the entry. Nothing where there is none, where it is not what was offered, and where `accept` does not take it;
  /// `why_not` tells. Errors: as of ObjectStore::get().
  [[nodiscard]] Result<std::optional<OfferedEntry>> fetch(ObjectStore& store, const Accept& accept,
                                                          MissReason& why_not) const;

 private:
  class KILN_INTERNAL Impl;
  explicit Offer(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

/// Told after each entry or request: how many were looked at, of how many.
using ExchangeProgress = std::function<void(std::size_t done, std::size_t total)>;

struct PushOptions {
  std::optional<std::vector<Digest>> keys = {};  ///< Only these entries.
  bool without_sources = false;
  SigningKey signing_key = {};  ///< Signs each entry, beside the signatures that it has.
  /// Names of texts' objects that were there a while ago: they are not put again, and those that are put are added. For who
  /// pushes entries one by one, which share most of their headers. Borrowed.
  std::set<std::string>* texts_there = nullptr;
  ExchangeProgress progress = {};
};

struct PushReport {
  std::uint64_t added = 0;
  std::uint64_t present = 0;  ///< Were there already.
  std::uint64_t signed_entries = 0;
  std::uint64_t bytes = 0;       ///< Of all objects that were added.
  std::vector<Finding> skipped;  ///< Damaged rows, left out; signatures that could not be made.
};

/// Puts entries of a cache or bundle into a store, and the texts that they were made of, once each. The same entry is the same
/// object. Errors: those of the cache and of the store, and invalid_setting where libsodium is missing; what went before has been
/// put.
[[nodiscard]] Result<PushReport> push(Cache& from, ObjectStore& to,
                                      const PushOptions& options = {});

struct PullOptions {
  std::optional<std::vector<Digest>> requests = {};  ///< Only what answers these.
  ExchangeProgress progress = {};
};

struct PullReport {
  std::uint64_t added = 0;
  std::uint64_t present = 0;  ///< Were here already.
  std::uint64_t missing = 0;  ///< Requests that nothing in the store answers.
  std::uint64_t bytes = 0;    ///< Of all objects that were read.
  std::vector<Finding> skipped;
};

/// Adds the entries of a store that are not here, of each request the latest 16. Everything is checked before it is decoded, and
/// is from then on as if it had been imported. Errors: as of push(); what went before has been added.
[[nodiscard]] Result<PullReport> pull(ObjectStore& from, Cache& to,
                                      const PullOptions& options = {});

/// An entry of a store.
struct StoreEntry {
  /// Of what only a cache tells there is nothing: when it was made, pins, uses.
  EntrySummary summary;
  std::uint64_t object_bytes = 0;  ///< Of the object that it is, without its texts.
  /// The names of the keys that signed it: of those that are trusted; where none are, of those that are said to have signed it.
  std::vector<std::string> signers;
};

struct StoreListing {
  std::uint64_t requests = 0;  ///< How many were looked at.
  std::uint64_t entries = 0;   ///< How many `each` was told.
  std::vector<Finding> skipped;
};

/// Tells `each` what pull() would bring from the store, until it gives false. Only an entry tells which program it is of, so each is
/// read whole and checked, without its texts. Errors: as of push().
[[nodiscard]] Result<StoreListing> list_store(ObjectStore& store,
                                              const std::function<bool(const StoreEntry&)>& each,
                                              const ExchangeProgress& progress = {});

}  // namespace kiln
