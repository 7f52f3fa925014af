#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "file/wall_clock.h"
#include "rows/entry_writer.h"

namespace kiln {

/// Adds entries to a cache that does not hold them, a few in a transaction.
class Arrival {
 public:
  /// Borrows all.
  Arrival(Cache::Impl& to, TextSource& texts, ImportReport& report)
      : to_(to), texts_(texts), report_(report), own_texts_({&to}) {}

  /// Whether the cache has it already, which is counted.
  Result<bool> is_present(const Digest& key);

  /// Takes an entry that is not present, with those of its texts that the cache does not hold. Where there is proof, none
  /// comes along that is not as it was signed. May store what was taken so far. Errors: as Cache::put().
  Outcome take(PickedUp picked);

  /// Stores what was taken. Errors: as Cache::put().
  Outcome finish();

 private:
  /// What is stored in one transaction.
  struct Batch {
    std::vector<storage::PreparedEntry> entries = {};
    std::set<Digest> texts = {};  ///< The texts that come with them.
    std::uint64_t bytes = 0;
    TextsTaken taken = TextsTaken::as_they_are;  ///< By what asks the most.
  };

  [[nodiscard]] Result<std::vector<Digest>> texts_missing(PickedUp& picked);
  [[nodiscard]] bool has_signed_texts(const PickedUp& picked);
  [[nodiscard]] bool relies_on_signed_texts(const storage::PreparedEntry& entry);
  Result<std::uint64_t> store_whole(std::span<storage::PreparedEntry> entries);
  Outcome store_singly();

  Cache::Impl& to_;
  TextSource& texts_;
  ImportReport& report_;
  CacheTexts own_texts_;
  /// When all of it came: in which order its entries were made, nobody knows here.
  const std::int64_t came_ = storage::seconds_since_1970();
  Batch batch_;
};

}  // namespace kiln
