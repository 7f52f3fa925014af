#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache_impl.h"
#include "rows/entry_reader.h"
#include "rows/entry_writer.h"
#include "rows/proof.h"

namespace kiln {

// Entries taken out of a cache, one by one, for whoever writes them elsewhere or says what they are. Nobody is held up
// meanwhile, so an entry that was seen may have gone.

/// Where an entry was seen.
struct Located {
  Digest key;
  std::int64_t id = 0;
  Cache::Impl* source = nullptr;
};

/// All entries in key order, with the ids that they have now.
Result<std::vector<Located>> locate_entries(Cache::Impl& cache, std::vector<Finding>& skipped);

/// The same of those that have one of these keys.
Result<std::vector<Located>> locate_entries(Cache::Impl& cache, const std::vector<Digest>& keys);

Result<bool> has_entry(Cache::Impl& cache, const Digest& key);

/// Whether it has one of this key that answers the request.
Result<bool> answers(Cache::Impl& cache, const Digest& key, const Digest& request);

struct PickedUp {
  storage::PreparedEntry entry;
  storage::Contents contents;           ///< Where it was asked for, or there is proof.
  std::optional<storage::Proof> proof;  ///< Where keys counted.
};

enum class WithContents { no, yes };

/// Reads and checks an entry. Gives nothing for a damaged one, for one that none of the keys has signed as it is,
/// where there are any, and for one that has gone meanwhile. Without keys, those count that its cache asks for.
Result<std::optional<PickedUp>> pick_up(const Located& at, WithContents with_contents,
                                        std::vector<Finding>& skipped, TrustedKeys keys = {});

/// The same of a row that lies in no cache. Without keys, none is asked for.
std::optional<PickedUp> examine(storage::RawEntry row, WithContents with_contents,
                                const TrustedKeys& keys, std::vector<Finding>& skipped);

/// A listing holds the texts of all entries, so that none may be long.
[[nodiscard]] inline std::string_view as_listed(std::string_view text) noexcept {
  constexpr std::size_t longest = 4096;
  return text.substr(0, longest);
}

/// As Cache::list() tells of it.
[[nodiscard]] EntrySummary summary_of(const storage::PreparedEntry& entry);

/// No header and no source is longer. A stranger's frame of a few bytes may hold a gigabyte.
inline constexpr std::uint64_t most_text_bytes = std::uint64_t{64} << 20;

/// Where the texts of entries come from.
class TextSource {
 public:
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  virtual ~TextSource() = default;

  /// The text, checked. Gives nothing for a damaged one, which is a finding, and for one that is not there.
  virtual Result<std::optional<storage::PreparedText>> text(const Digest& digest,
                                                            std::vector<Finding>& skipped) = 0;

  /// Its hash, as HashOfText gives it. Each text is hashed once: one that is read later need not be the same.
  virtual std::optional<std::string> hash(const Digest& digest) = 0;

  [[nodiscard]] storage::HashOfText hashes() {
    return [this](const Digest& digest) { return hash(digest); };
  }

 protected:
  TextSource() = default;
};

/// Those of caches: each text is read from the first that has it sound.
class CacheTexts final : public TextSource {
 public:
  explicit CacheTexts(std::vector<Cache::Impl*> caches) : caches_(std::move(caches)) {}

  Result<std::optional<storage::PreparedText>> text(const Digest& digest,
                                                    std::vector<Finding>& skipped) override;
  std::optional<std::string> hash(const Digest& digest) override;

 private:
  const std::vector<Cache::Impl*> caches_;
  std::map<Digest, std::optional<std::string>> known_;
};

/// Whether any text of the entry is there: who leaves out sources leaves out all of an entry's.
bool has_any_text(const storage::Contents& contents, TextSource& texts);

/// The entry's source and headers, in an order that follows from the entry alone. Where there is proof, those that it is of: what
/// was only asked for nobody has signed.
std::vector<Digest> texts_of(const PickedUp& picked);

/// Whether texts are taken as they are, or only with the hash that they had when they were compared with what was signed: a
/// stranger may write meanwhile.
enum class TextsTaken { as_they_are, as_hashed };

/// Adds those of these texts to the entry that are not in `brought` yet.
Outcome bring_texts(storage::PreparedEntry& entry, const std::vector<Digest>& texts,
                    std::set<Digest>& brought, TextSource& from, TextsTaken taken,
                    std::vector<Finding>& skipped);

}  // namespace kiln
