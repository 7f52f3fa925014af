#pragma once

#include <string_view>

#include "kiln/artifact.h"
#include "kiln/observer.h"

namespace kiln {

/// Tells the observer what was done, and the log callback (or standard error) in words. What a callback throws
/// goes no further: neither the caller is to blame, nor those who wait for the same result. Safe to use from any
/// thread.
class Reporter {
 public:
  Reporter(LogLevel level, LogCallback log, Observer observer);

  void warn(std::string_view line) const;

  void tell(const Event& event) const;

  /// Of an artifact that is there.
  void tell(EventKind kind, const Artifact& artifact, Origin origin, double milliseconds,
            std::string_view detail = {}) const;

 private:
  void write(LogLevel level, std::string_view line) const;

  LogLevel level_;
  LogCallback log_;
  Observer observer_;
};

}  // namespace kiln
