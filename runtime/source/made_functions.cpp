#include "source/made_functions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "source/function_text.h"
#include "source/open_call.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr auto none = std::string_view::npos;

void find_in(const MacroBody& macro, std::vector<MadeFunction>& found) {
  const std::string_view text = macro.text;
  std::vector<std::string_view> pieces;
  bool pasted = false;
  for (Scanner scanner(text); !scanner.done();) {
    const auto at = scanner.position();
    scanner.skip_word_or_token();
    const auto word = scanner.since(at);
    if (!begins_identifier(word.front())) continue;
    const bool is_parameter = macro.takes(word);
    if (!without_space(text.substr(0, at)).ends_with("##")) {
      pieces.clear();
      pasted = false;
    } else {
      pasted = true;
    }
    if (!is_parameter) pieces.push_back(word);
    const auto rest = without_space(scanner.rest());
    if (!rest.starts_with('(') || !pasted) continue;
    const auto lead = lead_of(text, at);
    const auto function = read_function(lead, rest);
    const auto is_given_too = [&](std::string_view each) { return macro.takes(each); };
    const bool is_open = !function.has_body() && function.end == '\0' && declares(lead);
    if (!function.has_body() && !is_open) continue;
    found.push_back(
        {lead, rest, pieces, is_open || !find_word(function.behind, is_given_too).empty()});
  }
}

// What a macro is given and what its own text has.
std::vector<std::string_view> pieces_of_call(std::string_view before, std::string_view macro,
                                             const ProgramTexts& texts) {
  std::vector<std::string_view> pieces;
  const auto add = [&](std::string_view word) {
    pieces.push_back(word);
    return false;
  };
  const auto name_ends = static_cast<std::size_t>(macro.data() - before.data()) + macro.size();
  static_cast<void>(find_word(before.substr(name_ends), add));
  static_cast<void>(texts.any_macro(
      macro, [&](const MacroBody& body) { return !find_word(body.text, add).empty(); }));
  return pieces;
}

void find_in(std::string_view code, const ProgramTexts& texts, std::vector<MadeFunction>& found) {
  for (auto at = code.find(')'); at != none; at = code.find(')', at + 1)) {
    auto next = at + 1;
    while (next < code.size() && is_space(code[next])) ++next;
    if (next == code.size() || code[next] != '(') continue;
    const auto call = open_call(code.substr(0, at), false);
    if (call.name.empty() || call.braced || !texts.is_macro(call.name)) continue;
    const auto text = rest_behind(code, next, without_space(lead_of(code, at)));
    if (!text.starts_with('(') || !read_function({}, text).has_body()) continue;
    found.push_back({{}, text, pieces_of_call(code.substr(0, at), call.name, texts)});
  }
}

// Whether anything is given a part that the name begins or ends with.
bool is_given_in_parts(std::string_view name, ProgramTexts& texts) {
  const auto is_part = [&](std::string_view word) {
    return begins_identifier(word.front()) && (name.starts_with(word) || name.ends_with(word));
  };
  return std::ranges::any_of(texts.own(), [&](const HeaderText* text) {
    const auto code = texts.code_of(*text);
    return any_word(code, is_part, [&](std::size_t at) {
      const auto before = without_space(code.substr(0, at));
      Scanner behind(code);
      behind.go_back_to(at);
      static_cast<void>(behind.identifier());
      behind.skip_space();
      return (before.ends_with('(') || before.ends_with(',')) &&
             (behind.peek() == ')' || behind.peek() == ',');
    });
  });
}

}  // namespace

std::vector<MadeFunction> find_made_functions(ProgramTexts& texts) {
  std::vector<MadeFunction> found;
  for (const auto* macros : texts.macros()) {
    for (const auto& [name, macro] : *macros) {
      if (macro.function_like && holds_rare(macro.text, "##")) find_in(macro, found);
    }
  }
  for (const auto* text : texts.own()) find_in(texts.code_of(*text), texts, found);
  return found;
}

bool may_be_named(const MadeFunction& function, std::string_view name, ProgramTexts& texts) {
  if (function.pieces.empty()) return is_given_in_parts(name, texts);
  return std::ranges::any_of(function.pieces, [&](std::string_view piece) {
    return name.starts_with(piece) || name.ends_with(piece);
  });
}

}  // namespace kiln
