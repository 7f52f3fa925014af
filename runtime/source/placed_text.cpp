#include "source/placed_text.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "source/characters.h"

namespace kiln {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Walks a text's lines, as far as it must to tell its conditionals. It knows comments and no literals: who goes by what it
// says, does without where it is mistaken.
class Lines {
 public:
  Lines(std::string_view text, std::size_t begin) : text_(text), next_(begin) {}

  // False behind the last one.
  bool advance() {
    if (next_ >= text_.size()) return false;
    const auto end = std::min(text_.find('\n', next_), text_.size() - 1) + 1;
    line_ = trimmed(without_comments(without_break(text_.substr(next_, end - next_))));
    next_ = end;
    return true;
  }

  // Without comments, and blanks around it.
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] std::size_t end() const { return next_; }
  [[nodiscard]] bool in_comment() const { return in_comment_; }

  // The name of the directive that the line is; else empty.
  [[nodiscard]] std::string_view directive() const {
    if (!line_.starts_with('#')) return {};
    const auto name = trimmed(line_.substr(1));
    return name.substr(
        0, std::find_if_not(name.begin(), name.end(), continues_identifier) - name.begin());
  }

 private:
  static std::string_view without_break(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  // What stands before a comment, or behind it. A line is no directive where one stands in its midst.
  std::string_view without_comments(std::string_view line) {
    for (;;) {
      if (in_comment_) {
        const auto end = line.find("*/");
        if (end == std::string_view::npos) return {};
        line.remove_prefix(end + 2);
        in_comment_ = false;
      }
      const auto begin = line.find("/*");
      const auto rest = std::min(line.find("//"), line.size());
      if (begin == std::string_view::npos || rest < begin) return line.substr(0, rest);
      const auto before = trimmed(line.substr(0, begin));
      in_comment_ = true;
      if (before.empty()) {
        line.remove_prefix(begin + 2);
        continue;
      }
      const auto end = line.find("*/", begin + 2);
      in_comment_ = end == std::string_view::npos;
      return before;
    }
  }

  std::string_view text_;
  std::string_view line_;
  std::size_t next_;
  bool in_comment_ = false;
};

// Whether the line asks for nothing but that a name is not defined.
bool opens_guard(const Lines& lines) {
  if (lines.directive() != "ifndef") return false;
  const auto rest = trimmed(lines.line().substr(1));
  const auto name = trimmed(rest.substr(std::string_view("ifndef").size()));
  return !name.empty() && std::all_of(name.begin(), name.end(), continues_identifier);
}

// Whether the conditional that was opened ends with the text, and has no other branch.
bool holds_the_rest(Lines lines) {
  for (int depth = 1; lines.advance();) {
    const auto directive = lines.directive();
    if (directive.starts_with("if")) ++depth;
    if (directive.starts_with("el") && depth == 1) return false;
    if (directive == "endif" && --depth == 0) {
      while (lines.advance())
        if (!lines.line().empty()) return false;
      return true;
    }
  }
  return false;
}

// Behind the line that opens a guard around the whole text: what stands before it would make it none. Else the begin.
std::size_t place_in(std::string_view text) {
  const std::size_t begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  Lines lines(text, begin);
  while (lines.advance() && lines.line().empty()) continue;
  const bool guards = opens_guard(lines) && !lines.in_comment() && holds_the_rest(lines);
  return guards ? lines.end() : begin;
}

std::string quoted(std::string_view path) {
  std::string literal;
  for (const char c : path) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal;
}

}  // namespace

std::string text_at(std::string_view path, std::string_view text) {
  const auto place = place_in(text);
  const auto line = std::count(text.begin(), text.begin() + static_cast<long>(place), '\n') + 1;
  return fmt::format("{}#line {} \"{}\"\n{}", text.substr(0, place), line, quoted(path),
                     text.substr(place));
}

}  // namespace kiln
