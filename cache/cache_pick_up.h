#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache_impl.h"
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

Result<bool> has_entry(Cache::Impl& cache, const Digest& key);

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

/// Reads and checks a text. Gives nothing for a damaged one, and for one that is not there.
Result<std::optional<storage::PreparedText>> pick_up_text(Cache::Impl& source, const Digest& digest,
                                                          std::vector<Finding>& skipped);

/// The hashes of texts, as HashOfText gives them: each text is read from the first cache that has it sound, and hashed
/// once.
class TextHashes {
 public:
  explicit TextHashes(std::vector<Cache::Impl*> sources) : sources_(std::move(sources)) {}

  std::optional<std::string> operator()(const Digest& text);

  /// Whether what was read now has the hash that it had then.
  bool is_still(const storage::PreparedText& read);

 private:
  const std::vector<Cache::Impl*> sources_;
  std::map<Digest, std::optional<std::string>> known_;
};

/// Whether any text of the entry is there: who leaves out sources leaves out all of an entry's.
bool has_any_text(const storage::Contents& contents, TextHashes& hashes);

}  // namespace kiln
