#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "kiln/error.h"

namespace kiln::remote {

/// How somebody asked for a lease fared.
enum class LeaseAnswer {
  taken,   ///< It is his now.
  held,    ///< Somebody else has it.
  failed,  ///< Whoever had it last gave it back a moment ago, and had nothing to show.
};

/// Leases on a server: who has one makes what several machines ask for at one time. A lease is a hint: two may hold it where a
/// server forgets, or is slow. No machine's clock is compared with another's. Serves one thread at a time. Errors: io_failed; they
/// name the server.
class Leases {
 public:
  /// A lease that nobody prolongs for so long has ended.
  static constexpr std::chrono::seconds lasting{10};
  /// For so long it is told that a holder failed.
  static constexpr std::chrono::seconds telling_failure{5};

  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;
  virtual ~Leases() = default;

  // A name has 64 hexadecimal digits; a token, which tells holders apart, 32.

  [[nodiscard]] virtual Result<LeaseAnswer> take(const std::string& name,
                                                 const std::string& token) = 0;
  /// False where it is somebody else's by now, or nobody's.
  [[nodiscard]] virtual Result<bool> prolong(const std::string& name, const std::string& token) = 0;
  /// Gives it back, where it still is this token's.
  [[nodiscard]] virtual Outcome release(const std::string& name, const std::string& token,
                                        bool failed) = 0;

 protected:
  /// Of so many names it is remembered what their holders said; who waits for more at one time waits longer for some.
  static constexpr std::size_t most_seen = 4096;

  Leases() = default;
};

}  // namespace kiln::remote
