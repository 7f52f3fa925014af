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
    auto what = What::kernel;
    bool line_begins = true;
    for (; skip_to_token(line_begins); line_begins = false) {
      const char c = scanner_.peek();
      if (!begins_identifier(c)) {
        if (c == ';' || c == '{' || c == '}') what = What::kernel;
        step_into_or_out(c);
        scanner_.skip_token();
        continue;
      }
      const auto word = scanner_.identifier();
      if (scanner_.peek() == '"' && is_one_of(word, raw_prefixes)) scanner_.skip_raw_literal();
      if (word == "template") what = has_parameters() ? What::its_template : What::its_instance;
      if (word == "namespace") enters_ = namespace_name();
      if (word == "__global__") add(what);
    }
    return std::move(found_);
  }

 private:
  enum class What { kernel, its_template, its_instance };

  // Skips directives and what `#if 0`, or the `#else` of `#if 1`, leaves out, and gives false at the end.
  bool skip_to_token(bool& line_begins) {
    for (;;) {
      scanner_.skip_blanks();
      if (scanner_.done()) return false;
      if (scanner_.peek() == '\n') {
        line_begins = true;
        scanner_.advance();
      } else if (line_begins && scanner_.skip_hash()) {
        auto directive = scanner_.rest_of_line();
        while (opens_dead_branch(directive)) directive = skip_branch();
      } else {
        return true;
      }
    }
  }

  bool opens_dead_branch(std::string_view directive) {
    directive = trimmed(directive);
    if (directive.starts_with("endif") && !certain_.empty()) certain_.pop_back();
    if (directive.starts_with("if")) certain_.push_back(false);
    if (directive.starts_with("el") && !certain_.empty() && certain_.back()) return true;
    for (const std::string_view name : {"if", "elif"}) {
      if (!directive.starts_with(name)) continue;
      const auto condition = trimmed(directive.substr(name.size()));
      if (condition == "0" || condition == "false") return true;
      if (!certain_.empty()) certain_.back() = condition == "1" || condition == "true";
    }
    return false;
  }

  // Past the directive that ends this branch, which it gives; empty where none does.
  std::string skip_branch() {
    int depth = 1;
    for (bool line_begins = false; !scanner_.done();) {
      scanner_.skip_blanks();
      if (line_begins && scanner_.skip_hash()) {
        auto directive = scanner_.rest_of_line();
        const auto name = trimmed(directive);
        if (name.starts_with("if")) ++depth;
        if (name.starts_with("endif")) --depth;
        if (depth == 0 || (depth == 1 && name.starts_with("el"))) return directive;
      }
      line_begins = scanner_.peek() == '\n';
      if (!scanner_.done()) scanner_.skip_word_or_token();
    }
    return {};
  }

  // "a::b" of `namespace a::b {`; nothing for one without a name.
  std::string namespace_name() {
    std::string name;
    bool line_begins = false;
    while (skip_to_token(line_begins)) {
      const char c = scanner_.peek();
      const bool wants_word = name.empty() || name.ends_with(':');
      if (c != ':' && !(wants_word && begins_identifier(c))) break;
      if (c == ':') scanner_.advance();
      name += c == ':' ? std::string_view(":") : scanner_.identifier();
    }
    return name;
  }

  // A brace that no namespace opens is not named: it belongs to a function, a type, or `extern "C"`.
  void step_into_or_out(char c) {
    if (c == '{') scopes_.push_back(std::exchange(enters_, {}));
    if (c == '}' && !scopes_.empty()) scopes_.pop_back();
    if (c == ';') enters_.clear();
  }

  [[nodiscard]] std::string scope() const {
    std::string scope;
    for (const auto& name : scopes_) scope += name.empty() ? "" : name + "::";
    return scope;
  }

  // `template <>` and `template void f<1>();` declare no further one: what they name is compiled where they stand.
  [[nodiscard]] bool has_parameters() const {
    Scanner ahead = scanner_;
    ahead.skip_blanks();
    if (ahead.peek() != '<') return false;
    ahead.advance();
    ahead.skip_blanks();
    return ahead.peek() != '>';
  }

  // Its name is the last before the bracket of its parameters; attributes have brackets, too.
  void add(What what) {
    std::string_view name;
    bool line_begins = false;
    while (skip_to_token(line_begins)) {
      line_begins = false;
      const char c = scanner_.peek();
      if (c == ';' || c == '{') return;
      if (begins_identifier(c)) {
        name = scanner_.identifier();
      } else if (c == '<' || (c == '(' && !name.starts_with("__"))) {
        if (what == What::its_instance) return note_instance(name);
        return c == '(' ? keep(name, what) : void();
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

  void keep(std::string_view name, What what) {
    const KernelDeclaration declaration{std::string(name), scope(), what == What::its_template};
    const bool again = std::ranges::any_of(found_, [&](const KernelDeclaration& other) {
      return other.name == name && other.scope == declaration.scope &&
             other.is_template == declaration.is_template;
    });
    if (!name.empty() && !again) found_.push_back(declaration);
  }

  void note_instance(std::string_view name) {
    for (auto& kernel : found_) {
      if (kernel.name == name) kernel.has_instances = true;
    }
  }

  Scanner scanner_;
  std::string enters_;               // The namespace that the next brace opens.
  std::vector<std::string> scopes_;  // Of each open brace its namespace, or nothing.
  std::vector<bool>
      certain_;  // Of each open conditional, whether the branch before is always taken.
  std::vector<KernelDeclaration> found_;
};

}  // namespace

std::vector<KernelDeclaration> kernel_declarations(std::string_view text) {
  const JoinedText joined(text);
  return Declarations(joined.text()).all();
}

std::vector<std::string> kernel_templates(const Program& program) {
  std::vector<std::string> names;
  for (const auto& kernel : kernel_declarations(program.source())) {
    if (kernel.is_template && !kernel.has_instances) names.push_back(kernel.scope + kernel.name);
  }
  return names;
}

}  // namespace kiln
