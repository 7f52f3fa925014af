#pragma once

#include <string>
#include <utility>

#include "kiln/cache.h"

namespace kiln {

/// Why a look-up finds nothing that serves. For one look-up, on one thread.
class WhyNot {
 public:
  /// What speaks against an entry. The first one told stays: the newest entry is looked at first.
  void refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  /// What a store says of its own part.
  void note(MissReason reason) noexcept {
    damaged_ |= reason == MissReason::damaged || reason == MissReason::unreadable;
  }

  [[nodiscard]] std::string text() const {
    if (!reason_.empty()) return reason_;
    return damaged_ ? "what was stored for this request is damaged"
                    : "nothing is stored for this request";
  }

 private:
  std::string reason_;
  bool damaged_ = false;
};

}  // namespace kiln
