#include "source/kernel_declarations.h"

#include <algorithm>
#include <utility>

#include "kiln/program.h"
#include "source/joined_text.h"
#include "source/scanner.h"

namespace kiln {

namespace {

class Declarations {
 public:
  explicit Declarations(std::string_view text) : scanner_(text) {}

  std::vector<KernelDeclaration> all() {
    bool is_template = false;
    bool line_begins = true;
    for (; skip_to_token(line_begins); line_begins = false) {
      const char c = scanner_.peek();
      if (!begins_identifier(c)) {
        if (c == ';' || c == '{' || c == '}') is_template = false;
        scanner_.skip_token();
        continue;
      }
      const auto word = scanner_.identifier();
      if (scanner_.peek() == '"' && is_one_of(word, raw_prefixes)) scanner_.skip_raw_literal();
      if (word == "template") is_template = has_parameters();
      if (word == "__global__") add(is_template);
    }
    return std::move(found_);
  }

 private:
  // Skips directives, and gives false at the end.
  bool skip_to_token(bool& line_begins) {
    for (;;) {
      scanner_.skip_blanks();
      if (scanner_.done()) return false;
      if (scanner_.peek() == '\n') {
        line_begins = true;
        scanner_.advance();
      } else if (line_begins && scanner_.skip_hash()) {
        static_cast<void>(scanner_.rest_of_line());
      } else {
        return true;
      }
    }
  }

  // `template <>` and `template void f<1>();` declare no further one.
  [[nodiscard]] bool has_parameters() const {
    Scanner ahead = scanner_;
    ahead.skip_blanks();
    if (ahead.peek() != '<') return false;
    ahead.advance();
    ahead.skip_blanks();
    return ahead.peek() != '>';
  }

  // Its name is the last before the bracket of its parameters; attributes have brackets, too.
  void add(bool is_template) {
    std::string_view name;
    bool line_begins = false;
    while (skip_to_token(line_begins)) {
      line_begins = false;
      const char c = scanner_.peek();
      if (c == ';' || c == '{' || c == '<') return;  // That of a specialisation has arguments.
      if (begins_identifier(c)) {
        name = scanner_.identifier();
      } else if (c == '(' && !name.starts_with("__")) {
        if (!name.empty()) keep({std::string(name), is_template});
        return;
      } else if (c == '(') {
        skip_brackets();
      } else {
        scanner_.skip_token();
      }
    }
  }

  void skip_brackets() {
    int depth = 0;
    bool line_begins = false;
    while (skip_to_token(line_begins)) {
      line_begins = false;
      const char c = scanner_.peek();
      scanner_.skip_token();
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth == 0) return;
    }
  }

  void keep(KernelDeclaration declaration) {
    if (std::find(found_.begin(), found_.end(), declaration) == found_.end())
      found_.push_back(std::move(declaration));
  }

  Scanner scanner_;
  std::vector<KernelDeclaration> found_;
};

}  // namespace

std::vector<KernelDeclaration> kernel_declarations(std::string_view text) {
  const JoinedText joined(text);
  return Declarations(joined.text()).all();
}

std::vector<std::string> kernel_templates(const Program& program) {
  std::vector<std::string> names;
  for (auto& [name, is_template] : kernel_declarations(program.source())) {
    if (is_template) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace kiln
