#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// Each header that NVRTC read, from what `-fdevice-time-trace` wrote: an event "Processing Header File" for
/// each (Chrome's trace event format, JSON). Nothing where the text is none of NVRTC's.
[[nodiscard]] std::optional<std::vector<std::string>> headers_in_trace(std::string_view trace);

/// A place for the trace of one compile, in memory: NVRTC ends the process where it cannot write its
/// trace, and a full disk crashes it, so a link leads it to a file that needs no disk. For one compile:
/// NVRTC appends, and reads what is there.
class HeaderTrace {
 public:
  /// `folder` must be writable and stay while this lives. `name` is this compile's alone.
  HeaderTrace(const std::filesystem::path& folder, const std::string& name);
  HeaderTrace(const HeaderTrace&) = delete;
  HeaderTrace& operator=(const HeaderTrace&) = delete;
  ~HeaderTrace();

  /// For NVRTC; empty where there is no place.
  [[nodiscard]] std::string option() const;

  /// After a compile with that option.
  [[nodiscard]] std::optional<std::vector<std::string>> headers() const;

 private:
  std::filesystem::path stem_;
  std::filesystem::path link_;
  int file_ = -1;
};

}  // namespace kiln
