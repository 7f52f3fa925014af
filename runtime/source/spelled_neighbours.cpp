#include "source/spelled_neighbours.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "source/characters.h"
#include "source/macro_expansion.h"
#include "source/text_search.h"

namespace kiln {

namespace {

using Form = IncludeDirective::Form;

// kiln's own are 33 headers in 24 KB.
constexpr std::size_t most_headers = 256;
constexpr std::size_t most_bytes = std::size_t{512} << 10;

bool stays_in_brackets(char c) {
  return continues_identifier(c) || std::string_view("./+-").find(c) != std::string_view::npos;
}

bool goes_by_macros(const IncludeDirective& include) {
  return include.tested && include.form == Form::quoted;
}

}  // namespace

std::optional<std::string> SpelledNeighbours::name(const IncludeDirective& include,
                                                   const EmbeddedHeader& header) const {
  if (include.form != Form::quoted) return std::nullopt;
  const auto* neighbour = search_.neighbour(include.spelling, header);
  const std::string name(neighbour != nullptr ? neighbour->name : include.spelling);
  if (holds(name, ">") || holds(name, "//") || holds(name, "/*")) return std::nullopt;
  if (!goes_by_macros(include)) return name;
  const auto bracketed = '<' + name + '>';
  const bool stays = std::ranges::all_of(name, stays_in_brackets) &&
                     expand_include_macro(bracketed, macros_()) == std::vector{bracketed};
  return stays && (neighbour != nullptr || !include.wrapped) ? std::optional(name) : std::nullopt;
}

HeaderForCompiler SpelledNeighbours::spell_out(const EmbeddedHeader& header,
                                               const HeaderText& scanned) const {
  HeaderForCompiler given{std::string(header.name), scanned.text};
  if (scanned.directives.unsure) return given;
  const auto& includes = scanned.directives.includes;
  for (auto include = includes.rbegin(); include != includes.rend(); ++include) {
    const auto neighbour = name(*include, header);
    if (!neighbour) continue;
    const auto old = given.text.substr(include->position, include->length);
    auto spelled = '<' + *neighbour + '>';
    for (auto lines = std::count(old.begin(), old.end(), '\n'); lines > 0; --lines)
      spelled += "\\\n";
    given.text.replace(include->position, include->length, spelled);
  }
  return given;
}

std::optional<std::vector<HeaderForCompiler>> all_for_compiler(const HeaderSearch& search,
                                                               HeaderFiles& files) {
  const auto embedded = search.embedded();
  if (embedded.size() > most_headers) return std::nullopt;
  const SpelledNeighbours neighbours(search, [] { return std::vector<const MacroBodies*>(); });
  std::vector<HeaderForCompiler> given;
  std::size_t bytes = 0;
  for (const auto* header : embedded) {
    const auto text = files.embedded(*header);
    bytes += text->text.size();
    if (bytes > most_bytes || std::ranges::any_of(text->directives.includes, goes_by_macros))
      return std::nullopt;
    given.push_back(neighbours.spell_out(*header, *text));
  }
  return given;
}

}  // namespace kiln
