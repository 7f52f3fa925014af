#include "source/spelled_neighbours.h"

#include <algorithm>
#include <cstddef>

#include "source/text_search.h"

namespace kiln {

namespace {

using Form = IncludeDirective::Form;

// kiln's own are 33 headers in 24 KB.
constexpr std::size_t most_headers = 256;
constexpr std::size_t most_bytes = std::size_t{512} << 10;

}  // namespace

bool can_be_spelled_out(const IncludeDirective& include) {
  return include.form == Form::quoted && include.length != 0 && fits_brackets(include.spelling);
}

std::optional<std::string> SpelledNeighbours::name(const IncludeDirective& include,
                                                   const EmbeddedHeader& header) const {
  if (!can_be_spelled_out(include)) return std::nullopt;
  const auto* neighbour = search_.neighbour(include.spelling, header);
  if (include.tested)
    return neighbour != nullptr ? std::optional(std::string(stand_in)) : std::nullopt;
  const std::string name(neighbour != nullptr ? neighbour->name : include.spelling);
  return name;
}

std::string SpelledNeighbours::spell_out(const EmbeddedHeader& header,
                                         const HeaderText& scanned) const {
  auto text = scanned.text;
  if (scanned.directives.unsure) return text;
  const auto& includes = scanned.directives.includes;
  for (auto include = includes.rbegin(); include != includes.rend(); ++include) {
    const auto neighbour = name(*include, header);
    if (!neighbour) continue;
    const auto old = text.substr(include->position, include->length);
    auto spelled = '<' + *neighbour + '>';
    for (auto lines = std::count(old.begin(), old.end(), '\n'); lines > 0; --lines)
      spelled += "\\\n";
    text.replace(include->position, include->length, spelled);
  }
  return text;
}

std::vector<HeaderForCompiler> SpelledNeighbours::spell_out(
    const std::vector<const EmbeddedHeader*>& headers, HeaderFiles& files) const {
  std::vector<HeaderForCompiler> given;
  bool stands_in = false;
  for (const auto* header : headers) {
    given.push_back({std::string(header->name), spell_out(*header, *files.embedded(*header))});
    stands_in |= holds(given.back().text, stand_in);
  }
  if (stands_in) given.push_back({std::string(stand_in), {}});
  return given;
}

std::optional<std::vector<HeaderForCompiler>> all_for_compiler(const HeaderSearch& search,
                                                               HeaderFiles& files) {
  const auto embedded = search.embedded();
  if (embedded.size() > most_headers) return std::nullopt;
  std::size_t bytes = 0;
  for (const auto* header : embedded) {
    bytes += files.embedded(*header)->text.size();
    if (bytes > most_bytes) return std::nullopt;
  }
  return SpelledNeighbours(search).spell_out(embedded, files);
}

}  // namespace kiln
