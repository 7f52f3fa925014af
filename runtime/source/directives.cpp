#include "source/directives.h"

#include <algorithm>
#include <array>
#include <utility>

#include "source/characters.h"
#include "source/compilers_macros.h"
#include "source/joined_text.h"
#include "source/open_call.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view asks_for_next_header = "__has_include_next";
constexpr std::string_view asserts = "assert";  // With the file's name.
constexpr std::array<std::string_view, 2> path_names{path_teller, "__builtin_FILE"};
constexpr std::array<std::string_view, 5> path_tellers{
    path_teller, base_teller, "__builtin_FILE", "source_location", "__builtin_source_location"};

// What the preprocessor takes a line for, as far as it matters here.
enum class Line { code, definition, condition, name_test, message, prelude_end };

// The definition of a macro, as far as it matters here.
struct Definition {
  std::string name;
  std::string parameters;  // As they stand between the brackets; empty for an object-like one.
};

void leave_to_the_compiler(Directives& directives) {
  if (directives.unfollowed.empty()) directives.unfollowed = asks_for_header;
}

// In a branch not taken there are no headers' names: a quote or a comment in one begins there.
bool may_begin_other(std::string_view name, Scanner behind) {
  const auto rest = trimmed(behind.up_to('\n'));
  return name.find_first_of("\"'\\") != std::string_view::npos || holds(name, "/*") ||
         (holds(name, "//") && !rest.empty() && !rest.starts_with("//"));
}

// A question whose name has a bracket, or no end, may be none: then more of them may follow.
// REQUIRES: the scanner stands at the quote or bracket.
void add_header_name(Scanner& scanner, bool tested, Directives& directives) {
  using Form = IncludeDirective::Form;
  const bool quoted = scanner.peek() == '"';
  const char close = quoted ? '"' : '>';
  const auto begin = scanner.position();
  scanner.advance();
  const auto spelling = scanner.up_to(close);
  const bool closed = scanner.peek() == close;
  if (tested && (!closed || spelling.find_first_of("()") != std::string_view::npos)) {
    leave_to_the_compiler(directives);
    return scanner.go_back_to(begin + 1);
  }
  if (holds(spelling, "?\?")) leave_to_the_compiler(directives);  // Before C++17, a trigraph.
  if (!closed) return;
  scanner.advance();
  directives.unsure |= may_begin_other(spelling, scanner);
  directives.includes.push_back({std::string(spelling), quoted ? Form::quoted : Form::angled, begin,
                                 scanner.position() - begin, tested});
}

void note_pieces(std::string_view word, Words& question_pieces, Directives& directives) {
  if (may_be_time_piece(word)) note_time_piece(word, directives.time_pieces);
  if (may_be_question_piece(word)) note_question_piece(word, question_pieces);
}

// What the compiler's own macro comes to counts as if it stood here.
void note_compilers_macro(std::string_view word, Directives& directives) {
  if (!is_compilers_macro(word) || !directives.compilers_macros.emplace(word).second) return;
  const auto body = body_of_compilers_macro(word);
  directives.pastes |= holds_rare(body, "##");
  static_cast<void>(find_word(body, [&](std::string_view named) {
    note_pieces(named, directives.question_pieces, directives);
    return false;
  }));
}

void note_compilers_macros(std::string_view code, Directives& directives) {
  static_cast<void>(find_word(code, [&](std::string_view word) {
    note_compilers_macro(word, directives);
    return false;
  }));
}

void add_operand(std::string operand, bool tested, Directives& directives) {
  note_compilers_macros(operand, directives);
  directives.includes.push_back({std::move(operand), IncludeDirective::Form::macro, 0, 0, tested});
}

void read_include(Scanner& scanner, bool next, Directives& directives) {
  const auto before = directives.includes.size();
  scanner.skip_blanks();
  const char c = scanner.peek();
  if (c == '"' || c == '<') {
    add_header_name(scanner, false, directives);
  } else {
    add_operand(scanner.rest_of_line(), false, directives);
  }
  if (directives.includes.size() > before) directives.includes.back().next = next;
}

// Reads up to the bracket that closes the one before the scanner, without comments.
std::string operand(Scanner& scanner) {
  std::string read;
  for (int depth = 1; !scanner.done() && scanner.peek() != '\n';) {
    const auto begin = scanner.position();
    if (scanner.skip_comment()) {
      read += ' ';
      continue;
    }
    if (scanner.peek() == '(') ++depth;
    if (scanner.peek() == ')' && --depth == 0) break;
    scanner.skip_word_or_token();
    read.append(scanner.since(begin));
  }
  return std::string(trimmed(read));
}

// The header's name of a question in a condition: one token, unless the question stands in the call of a macro, whose bracket
// may stand in another macro or text. Then what is between brackets is expanded.
void add_asked_header(Scanner& scanner, Directives& directives) {
  Scanner ahead = scanner;
  if (scanner.peek() == '<') {
    add_operand(operand(ahead), true, directives);
    directives.includes.back().beside = true;
  }
  add_header_name(scanner, true, directives);
}

// The scanner stands behind the bracket that opens, and then before the one that closes.
void read_asked_header(Scanner& scanner, const Definition* definition, Directives& directives) {
  const char c = scanner.peek();
  if (definition == nullptr && (c == '"' || c == '<')) return add_asked_header(scanner, directives);
  const auto asked = operand(scanner);
  if (definition == nullptr) return add_operand(asked, true, directives);
  note_compilers_macros(asked, directives);
  // `#define HAS(x) __has_include(x)`: the header's name stands in the condition that uses HAS.
  const bool one_word = !asked.empty() && std::ranges::all_of(asked, continues_identifier);
  if (definition->parameters == asked && one_word) {
    directives.header_tests.push_back(definition->name);
  } else if (definition->parameters.empty() && c == '<') {
    add_operand(asked, true, directives);
  } else {
    // NVRTC looks for what a macro quotes beside the file that uses the macro.
    leave_to_the_compiler(directives);
  }
}

/// Where a word stands: on which line, and in a definition or in none (nullptr).
struct Surroundings {
  Line line = Line::code;
  const Definition* definition = nullptr;
};

void read_has_include(Scanner& scanner, const Surroundings& around, Directives& directives) {
  const auto begin = scanner.position() - asks_for_header.size();
  scanner.skip_blanks();
  // In code it may be the argument of a macro that quotes it, or is quoted.
  if (around.line == Line::code) return leave_to_the_compiler(directives);
  if (scanner.peek() != '(') {
    // A macro gives it another name, or has the bracket.
    if (around.definition != nullptr || !scanner.is_tested_by_name(begin))
      leave_to_the_compiler(directives);
    return;
  }
  scanner.advance();
  scanner.skip_blanks();
  read_asked_header(scanner, around.definition, directives);
}

// The first letter rules out most words.
bool may_matter(std::string_view word) {
  return word.front() == '_' || word.front() == 'a' || word.front() == 's';
}

void note_tellers(std::string_view word, Directives& directives) {
  directives.tells_time |= is_time_teller(word);
  directives.tells_path |= is_one_of(word, path_tellers);
  directives.tells_base |= word == base_teller;
}

bool names_line(std::string_view word) {
  return word == "__LINE__" || word == "__builtin_LINE" || word == "_CCCL_BUILTIN_LINE";
}

// An argument; the scanner then stands behind it.
std::string_view argument_at(Scanner& scanner) {
  const auto begin = scanner.position();
  for (int depth = 0; !scanner.done(); scanner.skip_word_or_token()) {
    const char c = scanner.peek();
    if (depth == 0 && (c == ',' || c == ')')) break;
    if (c == '(') ++depth;
    if (c == ')') --depth;
  }
  return without_space(scanner.since(begin));
}

// Whether the line is the next argument, maybe cast, or stands behind literals and a function's name.
bool goes_on_with_line(Scanner behind) {
  constexpr std::size_t most_arguments = 8;
  constexpr std::array<std::string_view, 4> names{"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__",
                                                  "__builtin_FUNCTION"};
  for (std::size_t count = 0; behind.peek() == ',' && count < most_arguments; ++count) {
    behind.advance();
    const auto argument = argument_at(behind);
    if (!find_word(argument, names_line).empty()) return true;
    if (!argument.starts_with('"') && !is_one_of(argument, names)) return false;
  }
  return false;
}

// Whether the path is an argument that goes with its line, or part of a literal that is one. The scanner stands behind it.
bool is_said_in_full(std::string_view before, Scanner behind) {
  bool in_literal = false;
  if (!is_whole_argument(before, behind, in_literal)) return false;
  if (in_literal || goes_on_with_line(behind)) return true;
  before = trimmed(before);
  if (!before.ends_with(',')) return false;
  before.remove_suffix(1);
  return names_line(Scanner::last_word(trimmed(before)));
}

// Whether what is called, or the arguments before, are what a macro is given.
bool is_up_to_macro(const OpenCall& call, const Definition* definition) {
  if (definition == nullptr) return false;
  const std::string_view parameters = definition->parameters;
  const auto variadic = parameters.substr(0, parameters.find("..."));
  const auto named =
      variadic.size() == parameters.size() ? "" : Scanner::last_word(trimmed(variadic));
  const auto is_called = [&](std::string_view word) { return word == call.name; };
  const auto is_variadic = [&](std::string_view word) { return word == named; };
  return !find_word(parameters, is_called).empty() || !find_word(call.earlier, is_variadic).empty();
}

// Whether who uses a macro names it. The compiler's own macros may come to some.
bool is_meant_by_name(const Definition* definition) {
  return definition != nullptr && !is_word_of_compilers_macros(definition->name) &&
         !is_compilers_macro(definition->name);
}

// Who reports a place says its line too, or streams it, or says it in a pragma. Then the path stands in the image, or nowhere,
// unless it is given to what computes with it.
void note_path_use(std::string_view before, Scanner behind, const Definition* definition,
                   Directives& directives) {
  const auto call = open_call(before, definition != nullptr);
  while (!before.empty() && (is_blank(before.back()) || before.back() == '\n'))
    before.remove_suffix(1);
  if (is_message_of_pragma(call)) return;
  const auto in_macro = is_meant_by_name(definition) ? definition->name : std::string();
  if (is_streamed(before, behind)) {
    directives.path_uses.given.insert({in_macro, {std::string(stream)}});
  } else if (is_told_by_name(call) && !is_compilers_macro(call.name) && !initialises(call) &&
             !is_up_to_macro(call, definition) && !behind.found_raw_literal() &&
             is_said_in_full(before, behind)) {
    directives.path_uses.given.insert(
        {in_macro, {std::string(call.name), call.argument, names_before(call)}});
  } else if (!in_macro.empty()) {
    directives.path_uses.macros.insert(in_macro);
  } else {
    directives.path_uses.computes = true;
  }
}

// CCCL's source_location has it by another name.
bool is_renamed(const Definition* definition) {
  return definition != nullptr && definition->name == "_CCCL_BUILTIN_FILE";
}

// `before`: what stands before a literal.
bool is_given_to_pragma(std::string_view before) {
  while (!before.empty() && continues_identifier(before.back())) before.remove_suffix(1);  // L""
  before = trimmed(before);
  if (!before.ends_with('(')) return false;
  before.remove_suffix(1);
  return trimmed(before.substr(before.size() - std::min<std::size_t>(before.size(), 32)))
      .ends_with("_Pragma");
}

// What stands in a string may be given to _Pragma, which expands it. Where it is plain that it is given there, it is code.
void read_literal(std::string_view literal, bool in_pragma, Directives& directives) {
  auto& question_pieces = in_pragma ? directives.question_pieces : directives.literal_pieces;
  static_cast<void>(find_word(literal, [&](std::string_view word) {
    note_pieces(word, question_pieces, directives);
    note_compilers_macro(word, directives);
    note_tellers(word, directives);
    if (word.starts_with(asks_for_header)) leave_to_the_compiler(directives);
    return false;
  }));
}

void read_word(Scanner& scanner, const Surroundings& around, Directives& directives) {
  const auto begin = scanner.position();
  const auto word = scanner.identifier();
  if (scanner.peek() == '"' && is_one_of(word, raw_prefixes)) {
    scanner.skip_raw_literal();
    return read_literal(scanner.since(begin), true, directives);
  }
  if (around.line != Line::message) note_pieces(word, directives.question_pieces, directives);
  note_compilers_macro(word, directives);
  if (!may_matter(word)) return;
  if (word == asks_for_next_header) directives.unfollowed = word;
  directives.tells_path |= word == asserts;
  note_tellers(word, directives);
  // A condition only asks whether there is such a name.
  const bool asked = around.line == Line::condition || around.line == Line::name_test;
  if (is_one_of(word, path_names) && !asked && !is_renamed(around.definition))
    note_path_use(scanner.before(begin), scanner, around.definition, directives);
  if (word == asks_for_header) read_has_include(scanner, around, directives);
}

// Works on a copy of the scanner, so that the body is still read as text.
Definition read_definition(Scanner scanner) {
  scanner.skip_blanks();
  Definition definition{std::string(scanner.identifier()), {}};
  if (scanner.peek() != '(') return definition;
  scanner.advance();
  definition.parameters = operand(scanner);
  return definition;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    parts.emplace_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

void collect_macro(Scanner scanner, MacroBodies& macros) {
  scanner.skip_blanks();
  const std::string name(scanner.identifier());
  MacroBody macro;
  macro.function_like = scanner.peek() == '(';
  if (macro.function_like) {
    scanner.advance();
    macro.parameters = split(operand(scanner));
    scanner.advance();
  }
  macro.text = trimmed(scanner.rest_of_line());
  macros.emplace(name, std::move(macro));
}

// Where it says so, NVRTC precompiles no header that follows.
bool ends_prelude(Scanner pragma) {
  pragma.skip_blanks();
  const auto name = pragma.identifier();
  return name == "nv_hdrstop" || name == "hdrstop";
}

Line read_directive(Scanner& scanner, Directives& directives) {
  scanner.skip_blanks();
  const auto name = scanner.identifier();
  const bool next = name == "include_next";
  if (next || name == "include" || name == "import") read_include(scanner, next, directives);
  if (name == "define") {
    directives.definitions.push_back(scanner.position());
    return Line::definition;
  }
  if (is_one_of(name, name_tests)) return Line::name_test;
  if (name == "error" || name == "warning") return Line::message;
  if (name == "pragma") return ends_prelude(scanner) ? Line::prelude_end : Line::code;
  return name == "if" || name == "elif" ? Line::condition : Line::code;
}

// `#if HAS(<x>)` looks x up where HAS wraps __has_include; nothing else has a bracket or quote there. What stands between
// the brackets is expanded, but for a string.
void read_argument(Scanner& scanner, Line line, Directives& directives) {
  scanner.advance();
  if (line != Line::condition) return;
  scanner.skip_blanks();
  if (scanner.peek() == '<') add_operand(operand(scanner), true, directives);
  if (scanner.peek() != '"') return;
  const auto before = directives.includes.size();
  add_header_name(scanner, true, directives);
  if (directives.includes.size() > before) directives.includes.back().wrapped = true;
}

void read_joined(Scanner& scanner, Directives& directives) {
  Line line = Line::code;
  Definition definition;  // This line's, if it is one.
  bool line_begins = true;
  bool in_directive = false;
  bool in_prelude = true;
  directives.prelude = scanner.size();
  while (!scanner.done()) {
    scanner.skip_blanks();
    if (scanner.done()) break;
    const char c = scanner.peek();
    if (c == '\n') {
      line = Line::code;
      line_begins = true;
      in_directive = false;
      scanner.advance();
      continue;
    }
    const auto begin = scanner.position();
    if (line_begins && scanner.skip_hash()) {
      in_directive = true;
      line = read_directive(scanner, directives);
      if (line == Line::definition) definition = read_definition(scanner);
      in_directive = line != Line::prelude_end;
    } else if (begins_identifier(c)) {
      read_word(scanner, {line, line == Line::definition ? &definition : nullptr}, directives);
    } else if (c == '(') {
      read_argument(scanner, line, directives);
    } else {
      scanner.skip_token();
      if (c == '"')
        read_literal(scanner.since(begin), is_given_to_pragma(scanner.before(begin)), directives);
    }
    if (in_prelude && !in_directive) directives.prelude = begin;
    in_prelude &= in_directive;
    line_begins = false;
  }
}

}  // namespace

void PathUses::add(const PathUses& other) {
  computes |= other.computes;
  macros.insert(other.macros.begin(), other.macros.end());
  given.insert(other.given.begin(), other.given.end());
}

Directives read_directives(std::string_view text) {
  Directives directives;
  const JoinedText joined(text);
  Scanner scanner(joined.text());
  read_joined(scanner, directives);
  directives.raw_literals = scanner.found_raw_literal();
  directives.digit_separators = scanner.found_digit_separator();
  directives.literal_suffixes = scanner.found_literal_suffix();
  for (auto& include : directives.includes) {
    if (include.length == 0) continue;
    const auto end = joined.original(include.position + include.length - 1) + 1;
    include.position = joined.original(include.position);
    include.length = end - include.position;
  }
  directives.unsure |= directives.raw_literals && joined.text().data() != text.data();
  directives.prelude = joined.original(directives.prelude);
  for (const auto* paste : {"##", "%:%:"}) directives.pastes |= holds_rare(joined.text(), paste);
  // Before C++17, `??=include` is an include, `??/` continues a line, and `??'` opens no literal.
  for (const auto* trigraph : {"?\?=", "?\?/", "?\?'"}) {
    if (holds_rare(text, trigraph)) directives.unfollowed = trigraph;
  }
  return directives;
}

MacroBodies read_macros(std::string_view text, const std::vector<std::size_t>& definitions) {
  MacroBodies macros;
  const JoinedText joined(text);
  Scanner scanner(joined.text());
  for (const auto definition : definitions) {
    scanner.go_back_to(definition);
    collect_macro(scanner, macros);
  }
  return macros;
}

}  // namespace kiln
