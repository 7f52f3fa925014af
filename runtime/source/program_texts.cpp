#include "source/program_texts.h"

#include <utility>

#include "source/function_text.h"
#include "source/host_branches.h"
#include "source/macro_expansion.h"
#include "source/open_call.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

/// Macros that one goes through, before nobody follows it any further.
constexpr std::size_t most_macros = 500;

/// Whether a comma in it is not in brackets, or they are not closed.
bool has_open_comma(std::string_view text) {
  int depth = 0;
  for (Scanner scanner(text); !scanner.done(); scanner.skip_word_or_token()) {
    const char c = scanner.peek();
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth < 0) return true;
    if (c == ',' && depth == 0) return true;
  }
  return depth != 0;
}

bool undefines(std::string_view text, std::string_view macro) {
  if (!holds(text, "undef")) return false;
  for (auto at = text.find(macro); at != std::string_view::npos; at = text.find(macro, at + 1)) {
    if (Scanner::last_word(without_space(text.substr(0, at))) == "undef") return true;
  }
  return false;
}

}  // namespace

ProgramTexts::ProgramTexts(Texts own, const Texts& of_toolkit,
                           const std::vector<std::string>& options,
                           const std::vector<std::string>& expressions)
    : texts_(std::move(own)),
      own_(texts_.size()),
      asked_with_(options),
      of_options_(macros_of_options(options)),
      macros_{&of_options_} {
  texts_.insert(texts_.end(), of_toolkit.begin(), of_toolkit.end());
  for (const auto* text : texts_) macros_.push_back(&text->macros());
  for (const auto* text : this->own()) known_.try_emplace(text, Known{true, {}, {}});
  for (const auto* text : of_toolkit) known_.try_emplace(text, Known{false, {}, {}});
  for (const auto* macros : macros_) {
    for (const auto& [name, macro] : *macros) {
      if (!name.empty()) macro_names_.insert(name);  // A definition may have none.
    }
  }
  asked_with_.insert(asked_with_.end(), expressions.begin(), expressions.end());
  const auto names_it = [](const std::string& option) { return holds(option, defined_by_nvrtc); };
  const auto undefines_it = [](const HeaderText* text) {
    return undefines(text->text, defined_by_nvrtc);
  };
  knows_host_ = !is_macro(defined_by_nvrtc) && std::ranges::none_of(options, names_it) &&
                std::ranges::none_of(texts_, undefines_it);
}

std::string_view ProgramTexts::code_of(const HeaderText& text) {
  auto& known = known_.at(&text);
  if (known.code) return *known.code;
  known.code = text.code();
  if (knows_host_ && !text.directives.raw_literals && holds(*known.code, defined_by_nvrtc)) {
    known.without_host = without_host_branches(*known.code);
    known.code = known.without_host;
  }
  return *known.code;
}

// A continued line may part a name; a toolkit's do not.
bool ProgramTexts::may_hold(const HeaderText& text, std::string_view name) {
  return holds(is_own(text) ? code_of(text) : std::string_view(text.text), name);
}

bool ProgramTexts::use(const std::string& macro) {
  const auto [known, is_new] = used_.try_emplace(macro);
  if (is_new) {
    Names seen;
    known->second = use(macro, seen);
  }
  return known->second;
}

bool ProgramTexts::use(std::string_view macro, Names& seen) {
  if (!seen.insert(macro).second) return false;
  const auto names_it = [&](const std::string& text) { return holds(text, macro); };
  if (seen.size() > most_macros || has_digraphs() || may_paste(macro) ||
      std::ranges::any_of(asked_with_, names_it))
    return true;
  return std::ranges::any_of(texts_, [&](const HeaderText* text) {
    if (!may_hold(*text, macro)) return false;
    const auto code = code_of(*text);
    return any_use(code, macro, [&](std::size_t at) {
      const auto lead = without_space(lead_of(code, at));
      if (!is_of_directive(code, lead)) return true;
      // Another macro uses it where that is used; other directives only ask for it.
      const auto other = macro_defined_by(lead);
      return !other.empty() && use(other, seen);
    });
  });
}

bool ProgramTexts::may_paste(std::string_view name) {
  const auto pastes = [](const HeaderText* text) { return text->directives.pastes; };
  if (std::ranges::none_of(texts_, pastes)) return false;
  const Words names{std::string(name)};
  Words pieces;
  for (const auto* text : own()) add_pieces(code_of(*text), names, pieces);
  return can_be_pasted_with_letters(name, pieces);
}

bool ProgramTexts::opens_body(std::string_view name) const {
  return any_macro(name, [&](const MacroBody& macro) {
    // Another macro may hold the brace.
    return holds(macro.text, "{") || holds(macro.text, "<%") ||
           !find_word(macro.text, [&](std::string_view word) {
              return word != name && is_macro(word);
            }).empty();
  });
}

bool ProgramTexts::stands_for_several(std::string_view names) const {
  if (holds(names, "...") || holds(names, "__VA_")) return true;
  Names seen;
  return !find_word(names, [&](std::string_view name) {
            return parts_arguments(name, seen);
          }).empty();
}

bool ProgramTexts::parts_arguments(std::string_view macro, Names& seen) const {
  if (!is_macro(macro) || !seen.insert(macro).second) return false;
  if (seen.size() > most_macros) return true;
  return any_macro(macro, [&](const MacroBody& body) {
    return has_open_comma(body.text) || !find_word(body.text, [&](std::string_view word) {
                                           return parts_arguments(word, seen);
                                         }).empty();
  });
}

bool ProgramTexts::macro_has(std::string_view macro, std::string_view name) const {
  Names seen;
  return has(macro, name, seen);
}

bool ProgramTexts::has(std::string_view macro, std::string_view name, Names& seen) const {
  if (!is_macro(macro) || !seen.insert(macro).second) return false;
  if (seen.size() > most_macros) return true;
  return any_macro(macro, [&](const MacroBody& body) {
    return !find_word(body.text, [&](std::string_view word) {
              return !body.takes(word) && (word == name || has(word, name, seen));
            }).empty();
  });
}

bool ProgramTexts::is_class(std::string_view name, bool or_alias) {
  return std::ranges::any_of(texts_, [&](const HeaderText* text) {
    if (!may_hold(*text, name)) return false;
    const auto code = code_of(*text);
    return any_use(code, name, [&](std::size_t at) {
      const auto lead = without_space(lead_of(code, at));
      const auto rest = without_space(code.substr(at + name.size()));
      return begins_class(lead, rest) ||
             (or_alias && (rest.starts_with('=') || lead.starts_with("typedef")));
    });
  });
}

bool ProgramTexts::has_digraphs() {
  return std::ranges::any_of(own(), [&](const HeaderText* text) {
    const auto code = code_of(*text);
    return holds_rare(code, "%:") &&
           any_word(
               code, [](std::string_view word) { return word == "%"; },
               [&](std::size_t at) { return code.substr(at).starts_with("%:"); });
  });
}

}  // namespace kiln
