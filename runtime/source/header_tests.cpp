#include "source/header_tests.h"

#include <algorithm>

#include "source/joined_text.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

// How one text uses macros that ask for headers.
class MacroUses {
 public:
  MacroUses(std::string_view text, const Words& macros) : scanner_(text), macros_(macros) {}

  // Empty where there is none.
  std::string_view first_unfollowed() {
    while (!scanner_.done()) {
      scanner_.skip_blanks();
      if (scanner_.done()) break;
      const char c = scanner_.peek();
      if (c == '\n') {
        scanner_.advance();
        begin_line();
      } else if (line_begins_ && scanner_.skip_hash()) {
        begin_directive();
      } else if (begins_identifier(c)) {
        const auto word = scanner_.identifier();
        if (scanner_.peek() == '"' && is_one_of(word, raw_prefixes)) {
          const auto begin = scanner_.position();
          scanner_.skip_raw_literal();
          if (const auto named = named_in(scanner_.since(begin)); !named.empty()) return named;
        }
        if (macros_.contains(word) && !is_followed()) return word;
        note(word == "defined" ? After::defined : After::other);
      } else {
        const auto begin = scanner_.position();
        scanner_.skip_token();
        if (c == '"') {
          if (const auto named = named_in(scanner_.since(begin)); !named.empty()) return named;
        }
        note(c == '(' && after_ == After::defined ? After::defined : After::other);
      }
    }
    return {};
  }

 private:
  enum class After { directive, defined, other };

  // _Pragma expands what stands in its string. Empty where that names none.
  [[nodiscard]] std::string_view named_in(std::string_view literal) const {
    return find_word(literal, [&](std::string_view word) { return macros_.contains(word); });
  }

  void begin_line() {
    line_begins_ = true;
    directive_ = {};
  }

  void begin_directive() {
    scanner_.skip_blanks();
    directive_ = scanner_.identifier();
    note(After::directive);
    scanner_.skip_blanks();
    // Its words are a header's name.
    const bool includes = directive_ == "include" || directive_ == "include_next";
    if (includes && (scanner_.peek() == '<' || scanner_.peek() == '"'))
      static_cast<void>(scanner_.rest_of_line());
  }

  void note(After after) {
    line_begins_ = false;
    after_ = after;
  }

  // The scanner stands behind the macro's name.
  [[nodiscard]] bool is_followed() const {
    if (after_ == After::directive && (directive_ == "define" || is_one_of(directive_, name_tests)))
      return true;
    if (directive_ != "if" && directive_ != "elif") return false;
    if (after_ == After::defined) return true;
    Scanner ahead = scanner_;
    ahead.skip_blanks();
    if (ahead.peek() != '(') return false;
    ahead.advance();
    ahead.skip_blanks();
    return ahead.peek() == '<' || ahead.peek() == '"';
  }

  Scanner scanner_;
  const Words& macros_;
  bool line_begins_ = true;
  std::string_view directive_;  ///< Of this line; empty for code.
  After after_ = After::other;
};

}  // namespace

std::string used_unfollowed(std::string_view text, const Words& header_tests) {
  const JoinedText joined(text);
  const auto is_named = [&](const std::string& macro) { return holds(joined.text(), macro); };
  if (std::none_of(header_tests.begin(), header_tests.end(), is_named)) return {};
  return std::string(MacroUses(joined.text(), header_tests).first_unfollowed());
}

}  // namespace kiln
