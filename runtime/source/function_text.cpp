#include "source/function_text.h"

#include <algorithm>
#include <array>

#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr auto none = std::string_view::npos;

/// Words that no variable can have for its name.
constexpr std::array<std::string_view, 20> words_of_types{
    "const", "volatile", "struct", "class",    "enum",         "typename",  "register",
    "auto",  "void",     "bool",   "char",     "short",        "int",       "long",
    "float", "double",   "signed", "unsigned", "__restrict__", "__restrict"};

/// Types that are no classes.
constexpr std::array<std::string_view, 5> plain_types{"size_t", "int32_t", "int64_t", "uint32_t",
                                                      "uint64_t"};

bool is_plain(std::string_view word) {
  return is_one_of(word, words_of_types) || is_one_of(word, plain_types);
}

/// What these are given of a type tells nobody of it.
constexpr std::array<std::string_view, 5> pass_types_on{"forward<", "move<", "static_cast<",
                                                        "sizeof...(", "typename..."};

/// Of what may follow a function's parameters.
class Tail {
 public:
  explicit Tail(std::string_view text) : scanner_(text), text_(text) {}

  void read_into(FunctionText& function) {
    const bool has_body = reach_body();
    function.body = scanner_.position();
    if (has_body) skip_bodies();
    function.behind = scanner_.since(0);
    if (!has_body) function.body = function.behind.size();
    function.end = has_body ? '}' : scanner_.peek();
  }

 private:
  /// A digraph's body goes on to the text's end.
  [[nodiscard]] bool at_digraph() const { return scanner_.rest().starts_with("<%"); }

  /// False at the end of a statement, or of what the call is a part of.
  bool reach_body() {
    for (; !scanner_.done(); scanner_.skip_word_or_token()) {
      const char c = scanner_.peek();
      if (c == '(' || c == '[') ++depth_;
      if (c == ')' || c == ']') {
        if (depth_ == 0) return false;
        --depth_;
      }
      if (depth_ > 0) continue;
      if (c == '{' || at_digraph()) return true;
      if (c == ';' || c == '}' || (c == ',' && !lists_) || (c == '=' && assigns())) return false;
      lists_ |= c == ':' || scanner_.rest().starts_with("->");
    }
    return false;
  }

  /// Members may be initialised in braces, and there may be braces in a condition.
  void skip_bodies() {
    while (!scanner_.done()) {
      if (at_digraph()) return scanner_.go_back_to(text_.size());
      skip_braced();
      scanner_.skip_space();
      skip_other_branches();
      if (scanner_.peek() != ',' && scanner_.peek() != '{') return;
      if (scanner_.peek() == ',' && !reach_body()) return;
    }
  }

  /// A body may have an end in each branch of a condition.
  void skip_other_branches() {
    if (scanner_.peek() != '#') return;
    auto directive = scanner_;
    directive.advance();
    directive.skip_blanks();
    if (!directive.rest().starts_with("el")) return;
    const auto end = text_.find("endif", scanner_.position());
    if (end == none) return scanner_.go_back_to(text_.size());
    scanner_.go_back_to(end);
    static_cast<void>(scanner_.identifier());
    scanner_.skip_space();
  }

  void skip_braced() {
    int depth = 0;
    do {
      if (scanner_.peek() == '{') ++depth;
      if (scanner_.peek() == '}') --depth;
      scanner_.skip_word_or_token();
    } while (!scanner_.done() && depth > 0);
  }

  [[nodiscard]] bool assigns() {
    const auto at = scanner_.position();
    if (scanner_.rest().starts_with("==")) {
      scanner_.advance();
      return false;
    }
    return at == 0 || std::string_view("<>!").find(text_[at - 1]) == none;
  }

  Scanner scanner_;
  std::string_view text_;
  int depth_ = 0;
  bool lists_ = false;  ///< Behind this a comma is a list's.
};

/// Over what stands in brackets, if anything does.
void skip_brackets(Scanner& scanner) {
  scanner.skip_space();
  if (scanner.peek() != '(') return;
  int depth = 0;
  do {
    if (scanner.peek() == '(') ++depth;
    if (scanner.peek() == ')') --depth;
    scanner.skip_word_or_token();
  } while (!scanner.done() && depth > 0);
}

/// How often a word stands in a text where it may tell something.
std::size_t uses_of(std::string_view text, std::string_view word) {
  std::size_t uses = 0;
  for (Scanner scanner(text); !scanner.done();) {
    const auto at = scanner.position();
    scanner.skip_word_or_token();
    if (scanner.since(at) != word) continue;
    const auto before = text.substr(0, at);
    bool passed_on = false;
    for (const auto passing : pass_types_on) passed_on |= before.ends_with(passing);
    if (!passed_on) ++uses;
  }
  return uses;
}

// With a macro for the word itself, its parameters tell.
bool is_template(std::string_view lead) {
  return !find_word(lead, [](std::string_view word) {
            return word == "template" || word == "typename" || word == "class";
          }).empty();
}

}  // namespace

FunctionText read_function(std::string_view lead, std::string_view text) {
  FunctionText function{lead, {}};
  Scanner scanner(text);
  int depth = 0;
  do {
    const char c = scanner.peek();
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    scanner.skip_word_or_token();
  } while (!scanner.done() && depth > 0);
  function.in_brackets = scanner.since(0);
  function.in_brackets.remove_prefix(1);
  if (depth != 0) return function;
  function.in_brackets.remove_suffix(1);
  Tail(scanner.rest()).read_into(function);
  return function;
}

bool has_plain_tail(const FunctionText& function) {
  constexpr std::array<std::string_view, 6> plain{"const",    "volatile", "noexcept",
                                                  "override", "final",    "__attribute__"};
  bool returns = false;
  Scanner scanner(function.tail());
  for (scanner.skip_space(); !scanner.done(); scanner.skip_space()) {
    const auto rest = scanner.rest();
    if (rest.starts_with("::") && returns) {
      scanner.go_back_to(scanner.position() + 2);
    } else if (rest.starts_with(':')) {
      return true;  // What initialises members.
    } else if (rest.starts_with("->")) {
      returns = true;
      scanner.go_back_to(scanner.position() + 2);
    } else if (begins_identifier(rest.front())) {
      const auto word = scanner.identifier();
      if (!returns && !is_one_of(word, plain)) return false;
      if (word == "noexcept" || word == "__attribute__") skip_brackets(scanner);
    } else if (std::string_view("&*").find(rest.front()) != none) {
      scanner.advance();
    } else {
      return false;
    }
  }
  return true;
}

bool is_of_host(const FunctionText& function) {
  constexpr std::array<std::string_view, 5> streams{"ostream", "ostringstream", "stringstream",
                                                    "iostream", "ofstream"};
  const auto names_one = [&](std::string_view text) {
    return std::ranges::any_of(streams, [&](std::string_view stream) {
      const auto at = text.find(stream);
      return at != none && text.substr(0, at).ends_with("std::");
    });
  };
  return names_one(function.in_brackets) || names_one(function.behind);
}

std::optional<std::vector<std::string_view>> parameters_of(const FunctionText& function) {
  std::vector<std::string_view> parameters;
  int depth = 0;
  int angles = 0;
  std::size_t begin = 0;
  for (Scanner scanner(function.in_brackets);; scanner.skip_word_or_token()) {
    const char c = scanner.peek();
    if (scanner.done() || (c == ',' && depth == 0 && angles == 0)) {
      parameters.push_back(without_space(scanner.since(begin)));
      begin = scanner.position() + 1;
    }
    if (scanner.done()) break;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == '<' && depth == 0) ++angles;
    if (c == '>' && depth == 0) --angles;
  }
  if (angles != 0) return std::nullopt;
  return parameters;
}

std::string_view name_in_function(std::string_view parameter) {
  constexpr std::array<std::string_view, 9> qualify_types{"const",    "volatile",     "struct",
                                                          "class",    "enum",         "typename",
                                                          "register", "__restrict__", "__restrict"};
  parameter = without_space(parameter.substr(0, parameter.find('=')));
  const auto name = Scanner::last_word(parameter);
  auto type = without_space(parameter.substr(0, parameter.size() - name.size()));
  for (auto word = Scanner::last_word(type); is_one_of(word, qualify_types);
       word = Scanner::last_word(type)) {
    type = without_space(type.substr(0, type.size() - word.size()));
  }
  const bool is_type = type.empty() || type.ends_with("::") || type.ends_with(']');
  return is_type || is_one_of(name, words_of_types) ? std::string_view() : name;
}

bool uses_deduced_type(const FunctionText& function, std::string_view declared) {
  if (!is_template(function.lead) || declared.find_first_of("&[") == none) return false;
  const auto name = name_in_function(declared);
  return !find_word(declared, [&](std::string_view word) {
            if (word == name || is_plain(word)) return false;
            const auto uses = uses_of(function.lead, word);
            return uses > 1 || (uses == 1 && uses_of(function.behind, word) > 0);
          }).empty();
}

bool is_deduced(const FunctionText& function, std::string_view declared) {
  return is_template(function.lead) && !find_word(declared, [&](std::string_view word) {
                                          return !is_plain(word) &&
                                                 uses_of(function.lead, word) > 0;
                                        }).empty();
}

std::vector<std::string_view> classes_named(const FunctionText& function,
                                            std::string_view declared) {
  std::vector<std::string_view> classes;
  const auto name = name_in_function(declared);
  declared = declared.substr(0, declared.find_first_of("=<"));
  if (const auto attribute = declared.find("]]"); declared.starts_with("[[") && attribute != none)
    declared.remove_prefix(attribute);
  for (Scanner scanner(declared); !scanner.done();) {
    const auto at = scanner.position();
    scanner.skip_word_or_token();
    const auto word = scanner.since(at);
    const bool is_named = begins_identifier(word.front()) && word != name &&
                          !scanner.rest().starts_with("::") && !is_plain(word);
    const bool is_deduced = is_template(function.lead) && uses_of(function.lead, word) > 0;
    if (is_named && !is_deduced) classes.push_back(word);
  }
  return classes;
}

bool begins_class(std::string_view lead, std::string_view rest) {
  const bool begins = rest.starts_with('{') || rest.starts_with("final") ||
                      (rest.starts_with(':') && !rest.starts_with("::"));
  return begins && !find_word(lead, [](std::string_view word) {
                      return word == "struct" || word == "class" || word == "union";
                    }).empty();
}

std::string_view class_body(std::string_view text) {
  Scanner scanner(text);
  while (!scanner.done() && std::string_view("{;()").find(scanner.peek()) == none)
    scanner.skip_word_or_token();
  if (scanner.peek() != '{') return {};
  const auto begin = scanner.position();
  int depth = 0;
  do {
    if (scanner.peek() == '{') ++depth;
    if (scanner.peek() == '}') --depth;
    scanner.skip_word_or_token();
  } while (!scanner.done() && depth > 0);
  return scanner.since(begin);
}

std::string_view behind_template_arguments(std::string_view text) {
  if (!text.starts_with('<')) return text;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (std::string_view(";{}\"|=").find(text[at]) != none) return text;
    if (text[at] == '<') ++depth;
    if (text[at] == '>' && --depth == 0) return without_space(text.substr(at + 1));
  }
  return text;
}

}  // namespace kiln
