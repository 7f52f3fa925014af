#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace kiln::cli {

/// Where time went, of one name. Microseconds.
struct TraceTime {
  std::string name;
  std::uint64_t own_us = 0;  ///< Without what goes on in it and has a name itself.
  /// With that; where it goes on in itself, once. Of a header only what it took where the program itself includes it: 0
  /// for one that only others include, of which the compiler does not tell.
  std::uint64_t all_us = 0;
  std::size_t programs = 0;  ///< In how many it is.
};

/// A row for each: `name programs own_ms all_ms`, the last null where the compiler does not tell.
[[nodiscard]] nlohmann::ordered_json times_json(const std::vector<TraceTime>& times);

/// Sums up time traces of compiles: by what NVRTC calls its phases, and by header.
class TraceSummary {
 public:
  /// Takes each event as it was read, such as to write it elsewhere.
  using SeeEvent = std::function<void(nlohmann::json& event)>;

  /// Adds the trace of one program, or of several of which each is a process. What is no event of some length counts for
  /// nothing.
  /// Gives false for what is no JSON, which changes nothing.
  [[nodiscard]] bool add(std::string_view json, const SeeEvent& see = {});

  /// How many of which anything was told.
  [[nodiscard]] std::size_t programs() const noexcept { return programs_; }

  /// The one that took longest by itself first.
  [[nodiscard]] std::vector<TraceTime> phases() const;

  /// The one that took longest, with all that it includes, first. Empty for a compiler that tells no headers.
  [[nodiscard]] std::vector<TraceTime> headers() const;

 private:
  std::map<std::string, TraceTime> phases_;
  std::map<std::string, TraceTime> headers_;
  std::size_t programs_ = 0;
};

}  // namespace kiln::cli
