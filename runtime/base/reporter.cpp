#include "base/reporter.h"

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace kiln {

namespace {

const char* label(LogLevel level) {
  switch (level) {
    case LogLevel::warn:
      return "warning";
    case LogLevel::info:
      return "info";
    default:
      return "debug";
  }
}

// What happens at every call is for debugging; what costs time or explains a cost is worth a line.
LogLevel level_of(EventKind kind) {
  return kind == EventKind::hit || kind == EventKind::compile_begin ? LogLevel::debug
                                                                    : LogLevel::info;
}

std::string in_words(const Event& event) {
  std::string line = to_string(event.kind);
  if (!event.program.empty()) line += fmt::format(" {}", event.program);
  if (!event.arch.empty()) line += fmt::format(" {}", event.arch);
  if (event.kind == EventKind::hit) line += fmt::format(" from {}", to_string(event.origin));
  if (!event.key.empty()) line += fmt::format(" {}", event.key.hex());
  if (event.milliseconds > 0) line += fmt::format(" {:.3f} ms", event.milliseconds);
  if (!event.detail.empty()) line += fmt::format(": {}", event.detail);
  return line;
}

void to_standard_error(std::string_view level, std::string_view line) {
  // One call, so that lines of several threads do not mix.
  const auto text = fmt::format("kiln: {}: {}\n", level, line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Says on standard error that a callback threw, since the callback is no way to say it.
template <class Callback, class... Arguments>
void call(const Callback& callback, const Arguments&... arguments) {
  try {
    callback(arguments...);
  } catch (const std::exception& thrown) {
    to_standard_error("warning", fmt::format("a callback threw: {}", thrown.what()));
  } catch (...) {
    to_standard_error("warning", "a callback threw");
  }
}

}  // namespace

Reporter::Reporter(LogLevel level, LogCallback log, Observer observer)
    : level_(level), log_(std::move(log)), observer_(std::move(observer)) {}

void Reporter::warn(std::string_view line) const { write(LogLevel::warn, line); }

void Reporter::tell(const Event& event) const {
  if (observer_) call(observer_, event);
  const auto level = level_of(event.kind);
  if (level <= level_) write(level, in_words(event));
}

void Reporter::tell(EventKind kind, const Artifact& artifact, Origin origin, double milliseconds,
                    std::string_view detail) const {
  tell({kind, artifact.program, artifact.arch, artifact.key, origin, milliseconds, detail});
}

void Reporter::write(LogLevel level, std::string_view line) const {
  if (level > level_) return;
  if (log_) {
    call(log_, level, line);
  } else {
    to_standard_error(label(level), line);
  }
}

}  // namespace kiln
