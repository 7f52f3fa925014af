#include "cache_departure.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "signing/signature.h"

namespace kiln {

namespace {

/// Those of the caches from which anything may be taken as it is.
std::vector<Cache::Impl*> own_ones_of(const std::vector<Cache::Impl*>& caches) {
  std::vector<Cache::Impl*> own;
  std::ranges::copy_if(caches, std::back_inserter(own),
                       [](const Cache::Impl* cache) { return !cache->asks_for_proof(); });
  return own;
}

}  // namespace

Departure::Departure(const std::vector<Cache::Impl*>& caches, const Options& options,
                     std::vector<Finding>& skipped)
    : own_texts_(own_ones_of(caches)), options_(options), skipped_(skipped) {}

Result<std::optional<Departure::Leaving>> Departure::prepare(const Located& row) {
  const auto with_contents = options_.signing_key.empty() ? WithContents::no : WithContents::yes;
  auto picked = pick_up(row, with_contents, skipped_);
  if (!picked) return tl::unexpected(picked.error());
  if (!*picked) return std::optional<Leaving>();
  const auto& proof = (*picked)->proof;
  auto& entry = (*picked)->entry;
  Leaving leaving;
  leaving.compile_us = std::exchange(entry.compile_us, 0);
  entry.created = 0;
  leaving.with_texts =
      !options_.without_sources &&
      (!proof || proof->covers_texts((*picked)->contents, texts_of_cache(row).hashes()));
  if (leaving.with_texts) {
    leaving.texts = texts_of(**picked);
    const auto taken = proof ? TextsTaken::as_hashed : TextsTaken::as_they_are;
    auto& texts = proof ? texts_of_cache(row) : own_texts_;
    auto brought = bring_texts(entry, leaving.texts, brought_, texts, taken, skipped_);
    if (!brought) return tl::unexpected(brought.error());
  }
  leaving.is_signed = !options_.signing_key.empty() && add_signature(row, **picked);
  leaving.entry = std::move(entry);
  return std::optional(std::move(leaving));
}

bool Departure::add_signature(const Located& row, PickedUp& picked) {
  auto claim = claim_for(picked);
  auto& signatures = picked.entry.signatures;
  if (!claim) {
    skipped_.push_back({"signature", row.key.hex(),
                        "cannot be made: the entry's source or headers are not all there"});
    return false;
  }
  if (!picked.proof && storage::are_of_other_texts(signatures, *claim)) {
    skipped_.push_back(
        {"signature", row.key.hex(),
         "cannot be made: the source or a header that is here is another than the one that the "
         "entry's signature is for, of the same digest"});
    return false;
  }
  signatures.push_back(storage::sign(std::move(*claim), options_.signing_key));
  return true;
}

/// Of a stranger's entry, what the key that is trusted has said, and never what his texts say now.
std::optional<storage::Claim> Departure::claim_for(const PickedUp& picked) {
  if (!picked.proof) return storage::claim_of(picked.contents, own_texts_.hashes());
  auto claim = picked.proof->claim();
  claim.kernels = picked.contents.said.kernels;
  return claim;
}

CacheTexts& Departure::texts_of_cache(const Located& row) {
  if (!row.source->asks_for_proof()) return own_texts_;
  return of_strangers_.try_emplace(row.source, std::vector{row.source}).first->second;
}

}  // namespace kiln
