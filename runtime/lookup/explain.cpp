#include "kiln/explain.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kiln {

namespace {

constexpr std::size_t differences_in_a_summary = 4;

/// `reason` is what has been said: the only difference may be that.
std::string in_a_summary(const NearestEntry& nearest, std::string_view reason) {
  auto text = fmt::format("; nearest is {} ({} for {}", nearest.key.hex().substr(0, 12),
                          nearest.program, nearest.arch);
  if (nearest.kind != "cubin") text += ", " + nearest.kind;
  text += ')';
  const auto& differences = nearest.differences;
  if (differences.size() == 1 && differences.front().text == reason) return text;
  const auto shown = std::min(differences.size(), differences_in_a_summary);
  for (std::size_t index = 0; index < shown; ++index) {
    text += (index == 0 ? ": " : "; ") + differences[index].text;
  }
  if (differences.size() > shown) text += fmt::format("; and {} more", differences.size() - shown);
  return text;
}

}  // namespace

const char* to_string(Difference::Field field) noexcept {
  switch (field) {
    case Difference::Field::program:
      return "program";
    case Difference::Field::source:
      return "source";
    case Difference::Field::engine:
      return "engine";
    case Difference::Field::option:
      return "option";
    case Difference::Field::expression:
      return "expression";
    case Difference::Field::arch:
      return "arch";
    case Difference::Field::image:
      return "image";
    case Difference::Field::toolchain:
      return "toolchain";
    case Difference::Field::header:
      return "header";
    case Difference::Field::path:
      return "path";
    case Difference::Field::working_directory:
      return "working_directory";
    case Difference::Field::entry:
      return "entry";
  }
  return "?";
}

std::string Explanation::summary() const {
  auto text = fmt::format("{} for {}{} (request {}): ", program, arch,
                          kind == "cubin" ? "" : ", " + kind, request.hex());
  if (hit) {
    text += fmt::format("hit from {}, {}", to_string(origin), key.hex());
    return remark.empty() ? text : text + "; " + remark;
  }
  text += reason;
  if (nearest) text += in_a_summary(*nearest, reason);
  if (!not_stored.empty()) text += "; what is compiled is not kept: " + not_stored;
  return text;
}

}  // namespace kiln
