#include "log_colours.h"

#include <array>

namespace kiln::cli {

namespace {

constexpr std::string_view bold_text = "\x1b[1m";
constexpr std::string_view green = "\x1b[1;32m";
constexpr std::string_view plain = "\x1b[0m";

/// A severity as NVRTC writes it behind a place: "src/k.cu(4): error: …".
struct Severity {
  std::string_view text;
  std::string_view colour;
};
constexpr std::array severities{
    Severity{": error", "\x1b[1;31m"}, Severity{": catastrophic error", "\x1b[1;31m"},
    Severity{": warning", "\x1b[1;35m"}, Severity{": remark", "\x1b[1;36m"},
    Severity{": note", "\x1b[1;36m"}};

bool is_caret(std::string_view line) {
  return line.ends_with('^') && line.find_first_not_of(' ') == line.size() - 1;
}

// "place: severity: what": the place ends with a line's number in parentheses.
std::string coloured_line(std::string_view line) {
  if (is_caret(line)) return std::string(green).append(line).append(plain);
  for (const auto& [text, colour] : severities) {
    const auto at = line.find(text);
    if (at == std::string_view::npos || at == 0 || line[at - 1] != ')') continue;
    const auto end = line.find(':', at + 1);
    if (end == std::string_view::npos) continue;
    const auto severity = line.substr(at + 2, end + 1 - (at + 2));
    return std::string(bold_text)
        .append(line.substr(0, at + 1))
        .append(plain)
        .append(" ")
        .append(colour)
        .append(severity)
        .append(plain)
        .append(line.substr(end + 1));
  }
  return std::string(line);
}

}  // namespace

std::string with_colours(std::string_view log) {
  std::string coloured;
  while (!log.empty()) {
    const auto end = log.find('\n');
    coloured += coloured_line(log.substr(0, end));
    if (end == std::string_view::npos) break;
    coloured += '\n';
    log.remove_prefix(end + 1);
  }
  return coloured;
}

}  // namespace kiln::cli
