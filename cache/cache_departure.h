#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "rows/entry_writer.h"
#include "rows/proof.h"

namespace kiln {

// What entries take along when they leave a cache, for a bundle or for a store that machines share: their texts, and a
// signature.

/// Has entries ready to leave, one after the other.
class Departure {
 public:
  struct Options {
    bool without_sources = false;
    const SigningKey& signing_key;  ///< Signs each entry; none where it is empty.
  };
  /// Borrows all; texts are taken from the first of the caches that has them.
  Departure(const std::vector<Cache::Impl*>& caches, const Options& options,
            std::vector<Finding>& skipped);

  struct Leaving {
    storage::PreparedEntry
        entry;  ///< Without times; its texts are those that left with none before it.
    std::vector<Digest>
        texts;  ///< That it may take along, each in that entry or in one before it, as far as there.
    std::uint64_t compile_us = 0;
    bool with_texts = false;
    bool is_signed = false;  ///< By the key of the options.
  };
  /// Nothing, and a finding, for what cannot leave. Errors: io_failed, cache_unusable.
  Result<std::optional<Leaving>> prepare(const Located& row);

 private:
  bool add_signature(const Located& row, PickedUp& picked);
  std::optional<storage::Claim> claim_for(const PickedUp& picked);
  CacheTexts& texts_of_cache(const Located& row);

  CacheTexts own_texts_;
  std::map<Cache::Impl*, CacheTexts> of_strangers_;
  const Options options_;
  std::vector<Finding>& skipped_;
  std::set<Digest> brought_;
};

}  // namespace kiln
