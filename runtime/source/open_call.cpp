#include "source/open_call.h"

#include <array>
#include <string>

#include "source/text_search.h"

namespace kiln {

namespace {

constexpr auto npos = std::string_view::npos;

// Where the literal begins that ends before `end`, with its closing quote.
std::size_t begin_of_literal(std::string_view text, std::size_t end) {
  for (auto at = end - 1; at-- > 0 && text[at] != '\n';) {
    if (text[at] != text[end - 1]) continue;
    std::size_t escapes = 0;
    while (escapes < at && text[at - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) return at;
  }
  return npos;
}

// `std::forward<T>` without its arguments.
std::string_view without_template_arguments(std::string_view name) {
  if (!name.ends_with('>')) return name;
  int depth = 0;
  for (auto at = name.size(); at-- > 0;) {
    if (name[at] == '>') ++depth;
    if (name[at] == '<' && --depth == 0) return trimmed(name.substr(0, at));
    if (name[at] == ';' || name[at] == '(') break;
  }
  return {};
}

OpenCall call_of(std::string_view called, std::string_view earlier, std::size_t argument,
                 bool braced) {
  const auto name = without_template_arguments(called);
  auto before = name;
  const auto word = Scanner::last_word(name);
  before.remove_suffix(word.size());
  while (before.ends_with("::")) {
    before.remove_suffix(2);
    before.remove_suffix(Scanner::last_word(before).size());
  }
  auto given = without_space(called.substr(name.size()));
  if (given.size() > 1) given = given.substr(1, given.size() - 2);
  return {word, argument, braced, given, earlier, before};
}

/// What looks like the name of what is called and is none, or computes.
constexpr std::array<std::string_view, 36> keywords{
    "if",       "while",    "for",           "switch",   "return",   "sizeof",
    "decltype", "noexcept", "static_assert", "alignas",  "alignof",  "defined",
    "typeof",   "typeid",   "and",           "or",       "not",      "bitand",
    "bitor",    "xor",      "compl",         "and_eq",   "or_eq",    "xor_eq",
    "not_eq",   "catch",    "throw",         "new",      "delete",   "else",
    "do",       "case",     "co_return",     "co_yield", "co_await", "operator"};

/// With one of these before it, a name begins no declaration.
constexpr std::array<std::string_view, 15> begin_expressions{
    "asm",  "__asm__", "__asm", "if",   "while",  "for",   "switch", "return",
    "else", "do",      "new",   "case", "delete", "throw", "sizeof"};

/// Of a definition of a macro, what its body begins with.
std::string_view without_macro_name(std::string_view lead) {
  Scanner scanner(lead);
  if (scanner.identifier() != "define") return lead;
  scanner.skip_blanks();
  static_cast<void>(scanner.identifier());
  if (scanner.peek() == '(') {
    static_cast<void>(scanner.up_to(')'));
    scanner.advance();
  }
  return scanner.rest();
}

/// Without what stands between angle brackets: parameters of templates and arguments for them.
std::string without_angles(std::string_view text) {
  std::string rest;
  int depth = 0;
  for (const char c : text) {
    if (c == '<') ++depth;
    if (depth == 0) rest += c;
    if (c == '>' && depth > 0) --depth;
  }
  return rest;
}

/// Whether a function's name may follow: a type and specifiers, and no sign of an expression.
bool is_of_declaration(std::string_view lead) {
  if (lead.find_first_of("=?!+-/%|^,.") != npos) return false;
  return find_word(lead, [](std::string_view word) { return is_one_of(word, begin_expressions); })
      .empty();
}

}  // namespace

// What stands before a name since the last statement or directive, with what says of the directive which one it is.
std::string_view lead_of(std::string_view text, std::size_t at) {
  const auto begin = text.substr(0, at).find_last_of(";{}#") + 1;
  const auto lead = text.substr(begin, at - begin);
  const auto end = begin != 0 && text[begin - 1] == '#' ? lead.find('\n') : npos;
  return end == npos ? lead : lead.substr(end + 1);
}

bool is_of_directive(std::string_view text, std::string_view lead) {
  auto before = trimmed(text.substr(0, static_cast<std::size_t>(lead.data() - text.data())));
  if (!before.ends_with('#')) return false;
  before = trimmed(before.substr(0, before.size() - 1));
  return before.empty() || before.ends_with('\n');
}

std::string_view macro_defined_by(std::string_view lead) {
  Scanner scanner(lead);
  if (scanner.identifier() != "define") return {};
  scanner.skip_blanks();
  return scanner.identifier();
}

std::string_view rest_behind(std::string_view text, std::size_t at, std::string_view lead) {
  auto rest = text.substr(at);
  if (lead.starts_with("define")) rest = rest.substr(0, rest.find('\n'));
  return without_space(rest);
}

bool may_declare(std::string_view lead) {
  return is_of_declaration(without_angles(without_macro_name(lead)));
}

bool declares(std::string_view lead) {
  lead = without_space(without_macro_name(without_space(lead)));
  if (lead.empty() || !may_declare(lead)) return false;
  const char last = lead.back();
  return continues_identifier(last) || last == '>' || last == '*' || last == '&';
}

bool initialises(const OpenCall& call) {
  return declares(lead_of(call.before, call.before.size()));
}

// Whether it stands in a number.
bool is_separator(std::string_view text, std::size_t at) {
  return at > 0 && at + 1 < text.size() && is_digit(text[at - 1]) &&
         continues_identifier(text[at + 1]);
}

// Inside of one, a quote is no literal's end.
bool holds_raw_literal(std::string_view text) {
  for (auto at = text.find("R\""); at != npos; at = text.find("R\"", at + 1)) {
    if (is_one_of(Scanner::last_word(text.substr(0, at + 1)), raw_prefixes)) return true;
  }
  return false;
}

bool is_told_by_name(const OpenCall& call) {
  return !call.name.empty() && !call.braced && call.template_arguments.empty() &&
         !is_one_of(call.name, keywords) && !call.before.ends_with('"') &&
         !call.before.ends_with('#') &&
         (!call.before.ends_with('>') || call.before.ends_with("->")) &&
         !Scanner(call.name).at_number();
}

std::string names_before(const OpenCall& call) {
  // Of directives, nobody knows which arguments they leave.
  std::string names = holds(call.earlier, "\n#") ? "..." : "";
  for (Scanner scanner(call.earlier); !scanner.done();) {
    const bool is_pack = scanner.rest().starts_with("...");
    const auto at = scanner.position();
    scanner.skip_word_or_token();
    const auto word = is_pack ? std::string_view("...") : scanner.since(at);
    if (is_pack || begins_identifier(word.front()))
      names.append(names.empty() ? "" : " ").append(word);
  }
  return names;
}

bool is_streamed(std::string_view before, Scanner behind) {
  if (!before.ends_with("<<")) return false;
  for (behind.skip_space(); behind.peek() == '"'; behind.skip_space()) behind.skip_literal();
  return behind.rest().starts_with("<<") || behind.done() || behind.position() == 0 ||
         std::string_view(";),}").find(behind.peek()) != npos;
}

bool is_message_of_pragma(const OpenCall& call) {
  if (call.name != "message") return false;
  const auto before = without_space(call.before);
  if (Scanner::last_word(before) == "pragma") return true;
  if (!before.ends_with('(')) return false;
  const auto word = Scanner::last_word(without_space(before.substr(0, before.size() - 1)));
  return holds(word, "pragma") || holds(word, "Pragma") || holds(word, "PRAGMA");
}

OpenCall open_call(std::string_view before, bool in_definition) {
  constexpr std::size_t near = 4096;
  const auto least = before.size() - std::min(before.size(), near);
  int depth = 0;
  std::size_t argument = 0;
  bool behind_angle = false;
  bool in_angles = false;  // Then nobody knows whether a comma parts arguments.
  for (auto at = before.size(); at-- > least;) {
    const char c = before[at];
    if (before.substr(at).starts_with("<%")) return {};
    if (c == '"' || (c == '\'' && !is_separator(before, at))) {
      if (c == '"' && holds_raw_literal(before.substr(least))) return {};
      at = begin_of_literal(before, at + 1);
      if (at == npos) return {};
      continue;
    }
    // What a comment holds is no argument.
    const bool in_comment = c == '/' && at > 0 && (before[at - 1] == '/' || before[at - 1] == '*');
    if (c == ';' || (c == '\n' && in_definition) || in_comment) return {};
    if (c == ')' || c == '}' || c == ']') ++depth;
    if (depth == 0) {
      behind_angle |= c == '>' && !before.substr(0, at).ends_with('-');
      in_angles |= c == ',' && behind_angle;
      if (c == '<' && in_angles) return {};
      if (c == ',') ++argument;
    }
    if (c == '[' && depth-- == 0) return {};
    if ((c == '(' || c == '{') && depth-- == 0)
      return call_of(trimmed(before.substr(0, at)), before.substr(at + 1), argument, c == '{');
  }
  return {};
}

namespace {

// Over a macro's name and what it is given, which makes a literal. False at any other name.
bool skip_literal_of_macro(Scanner& behind) {
  static_cast<void>(behind.identifier());
  behind.skip_space();
  if (behind.peek() != '(') return false;
  int depth = 0;
  do {
    if (behind.peek() == '(') ++depth;
    if (behind.peek() == ')') --depth;
    behind.skip_word_or_token();
  } while (!behind.done() && depth > 0);
  return true;
}

}  // namespace

bool is_whole_argument(std::string_view before, Scanner& behind, bool& in_literal) {
  auto lead = without_space(before);
  while (lead.ends_with('"')) {
    const auto begin = begin_of_literal(lead, lead.size());
    if (begin == npos) return false;
    lead = without_space(lead.substr(0, begin));
    in_literal = true;
  }
  if (lead.empty() || std::string_view("(,{").find(lead.back()) == npos) return false;
  for (behind.skip_space(); behind.peek() == '"'; behind.skip_space()) {
    const auto begin = behind.position();
    behind.skip_literal();
    // A suffix makes a call of it.
    if (!behind.since(begin).ends_with('"')) return false;
    in_literal = true;
    // Another literal, or the macro that makes one, goes on with it.
    behind.skip_space();
    if (begins_identifier(behind.peek()) && !skip_literal_of_macro(behind)) return false;
  }
  return behind.peek() == ',' || behind.peek() == ')' || behind.peek() == '}';
}

}  // namespace kiln
