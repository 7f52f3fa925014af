#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache_objects.h"
#include "cache_parcel.h"
#include "cache_pick_up.h"
#include "kiln/exchange.h"

namespace kiln {

/// A parcel that was read, and found to be what the store says that it is.
struct ReadParcel {
  PickedUp picked;
  std::string text_list;    ///< The name of the object that lists its texts; empty for none.
  std::uint64_t bytes = 0;  ///< Of its object.
};

/// Reads what a store has for requests: for who takes all that there is, one request after the other.
class ParcelReader {
 public:
  /// Borrows both. What does not serve is added to `skipped`.
  ParcelReader(ObjectStore& store, std::vector<Finding>& skipped)
      : store_(store), skipped_(skipped), objects_(store, skipped) {}

  /// What the store says of a request, as far as anything of it may be believed: the latest 16.
  [[nodiscard]] std::vector<TakenHint> hints_of(const Digest& request);

  /// Reads and checks the parcel of a hint. Nothing, and a finding but where there is none, for one that does not serve. Errors:
  /// cache_unusable, once the store has given too much that leads to nothing.
  [[nodiscard]] Result<std::optional<ReadParcel>> read(const TakenHint& hint,
                                                       const Digest& request);

  [[nodiscard]] ObjectReader& objects() noexcept { return objects_; }

 private:
  std::optional<ReadParcel> examine_parcel(const TakenHint& hint, const Digest& request);

  ObjectStore& store_;
  std::vector<Finding>& skipped_;
  ObjectReader objects_;
  std::uint64_t wasted_bytes_ = 0;
};

}  // namespace kiln
