#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kiln/digest.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {

/// What was heard of a server lately, for the next of this machine's processes that asks the same. Safe to use from any thread.
class Lately {
 public:
  using Clock = std::chrono::steady_clock;

  /// So long nobody asks again for a request that nothing answers; for one that something does, less long.
  static constexpr std::chrono::seconds nothing_holds{30};
  static constexpr std::chrono::seconds hints_hold{5};
  static constexpr std::size_t most_requests = 10'000;
  static constexpr std::uint64_t most_bytes_of_hints = std::uint64_t{16} << 20;
  static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;  ///< Of objects.

  static constexpr auto any_number = std::numeric_limits<std::size_t>::max();

  /// What there is for whoever asks for no more than `known`.
  void keep(const Digest& request, std::vector<WireHint> hints, std::size_t known);
  /// Nothing where so many may be more than are known.
  [[nodiscard]] std::optional<std::vector<WireHint>> hints(const Digest& request, std::size_t most);
  void forget(const Digest& request);

  void keep(const std::string& name, const std::string& object);
  [[nodiscard]] std::optional<std::string> object(const std::string& name,
                                                  std::uint64_t most_bytes);
  void forget_object(const std::string& name);

 private:
  struct Heard {
    std::vector<WireHint> hints;
    std::size_t known;
    std::uint64_t bytes;
    Clock::time_point until;
  };
  struct Object {
    std::string name;
    std::string bytes;
  };

  void forget_kept(const std::string& name);
  void forget_heard(std::map<Digest, Heard>::iterator at);

  std::mutex mutex_;
  std::map<Digest, Heard> heard_;
  std::uint64_t bytes_of_hints_ = 0;
  std::list<Object> objects_;  ///< The latest first.
  std::map<std::string, std::list<Object>::iterator> by_name_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln::remote
