#pragma once

#include "remote/remote_protocol.h"

namespace kiln {

/// What whoever waits for another's compile makes of answers that come too late. One ends no wait: where a server is slow since all
/// are busy, another compile makes it slower. Serves one thread.
class LateAnswers {
 public:
  /// What he goes by who asked for a lease: never `late`.
  [[nodiscard]] remote::LeaseState judge(remote::LeaseState answer, bool has_waited) noexcept {
    in_a_row_ = answer == remote::LeaseState::late ? in_a_row_ + 1 : 0;
    if (in_a_row_ == 0) return answer;
    return has_waited && in_a_row_ < most_in_a_row ? remote::LeaseState::held
                                                   : remote::LeaseState::unavailable;
  }

 private:
  static constexpr int most_in_a_row = 2;

  int in_a_row_ = 0;
};

}  // namespace kiln
