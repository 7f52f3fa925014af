#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "kiln/cache.h"

namespace kiln {

/// Why no layer serves a request, as a person reads it and as it is counted.
struct Miss {
  std::string why_not;
  MissReason reason = MissReason::none;  ///< `none` where no store was asked.
};

/// Why a look-up finds nothing that serves. For one look-up, on one thread.
class WhyNot {
 public:
  /// What speaks against an entry. The first one told stays: the newest entry is looked at first.
  void refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  /// What a store says of its own part.
  void note(MissReason reason) noexcept { nearest_ = std::max(nearest_, reason); }

  [[nodiscard]] Miss miss() const { return {text(), nearest_}; }

 private:
  [[nodiscard]] std::string text() const {
    if (!reason_.empty()) return reason_;
    if (nearest_ >= MissReason::damaged) return "what was stored for this request is damaged";
    if (nearest_ == MissReason::untrusted)
      return "no trusted key has signed what is stored for this request (KILN_TRUSTED_KEYS)";
    return "nothing is stored for this request";
  }

  std::string reason_;
  MissReason nearest_ = MissReason::none;
};

}  // namespace kiln
