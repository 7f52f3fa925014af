#include "image/ptx.h"

#include <algorithm>
#include <cctype>

namespace kiln {

namespace {

bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' ||
         c == '%';
}

// Reads words (directives, names, numbers, strings) and single characters, and skips comments and blanks.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text) : rest_(text) {}

  /// Empty at the end of the text.
  std::string_view next() {
    skip_between();
    const auto word = rest_.substr(0, length_of_word());
    rest_.remove_prefix(word.size());
    return word;
  }

  bool at_end() {
    skip_between();
    return rest_.empty();
  }

 private:
  void skip_between() {
    for (;;) {
      if (rest_.starts_with("//")) {
        skip_past("\n");
      } else if (rest_.starts_with("/*")) {
        skip_past("*/");
      } else if (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }

  std::size_t length_of_word() const {
    if (rest_.starts_with('"')) {
      const auto end = rest_.find('"', 1);
      return end == std::string_view::npos ? rest_.size() : end + 1;
    }
    std::size_t length = 0;
    while (length < rest_.size() && is_in_name(rest_[length])) ++length;
    return std::max<std::size_t>(length, 1);
  }

  void skip_past(std::string_view end) {
    const auto at = rest_.find(end, 2);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
  }

  std::string_view rest_;
};

// The words of one statement at file level, without its body or value.
struct Statement {
  std::vector<std::string_view> words;
  bool has_body = false;
};

void skip_block(PtxWords& words) {
  for (std::size_t depth = 1; depth != 0;) {
    const auto word = words.next();
    if (word.empty()) return;
    if (word == "{") ++depth;
    if (word == "}") --depth;
  }
}

Statement read_statement(PtxWords& words) {
  Statement statement;
  for (auto word = words.next(); !word.empty() && word != ";"; word = words.next()) {
    if (word == "=") {
      // The value of a variable, up to the semicolon.
      while (!word.empty() && word != ";") word = words.next();
      return statement;
    }
    if (word == "{") {
      statement.has_body = true;
      skip_block(words);
      return statement;
    }
    statement.words.push_back(word);
  }
  return statement;
}

// The name of a kernel or function: it comes after the directive, and after a return value in parentheses.
std::string_view name_after(const std::vector<std::string_view>& words, std::size_t directive) {
  std::size_t at = directive + 1;
  if (at < words.size() && words[at] == "(") {
    while (at < words.size() && words[at] != ")") ++at;
    ++at;
  }
  return at < words.size() ? words[at] : std::string_view{};
}

// The name of a variable: the last word that may be one, before the extents of an array.
std::string_view variable_name(const std::vector<std::string_view>& words) {
  auto end = std::find(words.begin(), words.end(), "[");
  return end == words.begin() ? std::string_view{} : *(end - 1);
}

std::size_t position(const std::vector<std::string_view>& words, std::string_view word) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

PtxDefinition definition_in(const Statement& statement) {
  const auto& words = statement.words;
  const bool weak = position(words, ".weak") < words.size();
  if (!weak && position(words, ".visible") == words.size()) return {};
  for (const auto* directive : {".entry", ".func"}) {
    const auto at = position(words, directive);
    if (at == words.size()) continue;
    if (!statement.has_body) return {};
    return {name_after(words, at), words[at] == ".entry", weak};
  }
  return {variable_name(words), false, weak};
}

// Directives such as ".version 9.0" end with their line, not with a semicolon. So the statement begins at the
// first directive that says who may see it.
void drop_preamble(Statement& statement) {
  auto& words = statement.words;
  const auto begin = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return word == ".visible" || word == ".weak" || word == ".extern" || word == ".common";
  });
  words.erase(words.begin(), begin);
}

}  // namespace

std::vector<PtxDefinition> read_ptx(std::string_view text) {
  std::vector<PtxDefinition> definitions;
  PtxWords words(text);
  while (!words.at_end()) {
    auto statement = read_statement(words);
    drop_preamble(statement);
    const auto definition = definition_in(statement);
    if (!definition.name.empty()) definitions.push_back(definition);
  }
  return definitions;
}

}  // namespace kiln
