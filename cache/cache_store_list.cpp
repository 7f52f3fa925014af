#include <cstddef>
#include <utility>

#include "cache_parcel_reader.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "kiln/exchange.h"
#include "record/signature_codec.h"
#include "signing/signature.h"

namespace kiln {

namespace {

using TellEach = std::function<bool(const StoreEntry&)>;

/// Goes through a store, one request after the other.
class StoreLister {
 public:
  StoreLister(ObjectStore& store, const TellEach& each) : each_(each), parcels_(store, skipped_) {}

  Result<StoreListing> run(const std::vector<Digest>& requests, const ExchangeProgress& progress) {
    while (goes_on_ && listing_.requests < requests.size()) {
      const auto& request = requests[listing_.requests++];
      if (auto listed = list_those_of(request); !listed)
        return tl::unexpected(std::move(listed.error()));
      if (progress) progress(listing_.requests, requests.size());
    }
    listing_.skipped = std::move(skipped_);
    return std::move(listing_);
  }

 private:
  Outcome list_those_of(const Digest& request) {
    const auto hints = parcels_.hints_of(request);
    for (const auto& hint : hints) {
      auto read = parcels_.read(hint, request);
      if (!read) return tl::unexpected(std::move(read.error()));
      if (!*read) continue;
      const auto& entry = (*read)->picked.entry;
      StoreEntry told{summary_of(entry), (*read)->bytes, storage::signers_in(entry.signatures)};
      // A parcel tells neither: it was prepared just now.
      told.summary.created = 0;
      told.summary.compile_us = hint.said.compile_us;
      ++listing_.entries;
      goes_on_ = each_(told);
      if (!goes_on_) return {};
    }
    return {};
  }

  const TellEach& each_;
  bool goes_on_ = true;
  StoreListing listing_;
  std::vector<Finding> skipped_;
  ParcelReader parcels_;
};

}  // namespace

Result<StoreListing> list_store(ObjectStore& store, const TellEach& each,
                                const ExchangeProgress& progress) {
  const CallerState caller;
  if (auto hashing = storage::prepare_to_hash(); !hashing)
    return tl::unexpected(std::move(hashing.error()));
  const auto requests = store.requests();
  if (!requests) return tl::unexpected(requests.error());
  return StoreLister(store, each).run(*requests, progress);
}

}  // namespace kiln
