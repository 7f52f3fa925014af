#include "source/output_paths.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "source/path_takers.h"
#include "source/text_index.h"
#include "source/text_search.h"

namespace kiln {

namespace {

// PTX holds strings as lists of decimal bytes.
std::string as_ptx_bytes(std::string_view text) {
  std::string list;
  for (const unsigned char byte : text) list += (list.empty() ? "" : ", ") + std::to_string(byte);
  return list;
}

// `has`: whether a part stands in the image.
template <class Has>
bool shows_where(const Has& has, ImageKind kind, std::string_view text) {
  return has(text) || (kind == ImageKind::ptx && has(as_ptx_bytes(text)));
}

// Bitcode packs its strings, so looking for one tells nothing, and has the path of each header that it has a function of.
bool hides_strings(ImageKind kind) {
  return kind == ImageKind::ltoir || kind == ImageKind::optixir;
}

// Whether anything does more with the places of the program's own texts than report them.
bool computes_path(const Query& query, const Closure& closure) {
  const auto& uses = closure.own_path_uses;
  if (uses.computes) return true;
  if (uses.macros.empty() && uses.given.empty()) return false;
  PathTakers::Texts own{closure.source.get()};
  PathTakers::Texts of_toolkit;
  for (std::size_t index = 0; index < closure.texts.size(); ++index) {
    const auto& text = closure.texts[index];
    if (text) (closure.found[index].in_toolkit ? of_toolkit : own).push_back(text.get());
  }
  PathTakers takers(std::move(own), of_toolkit, query.program.options(), query.program.kernels());
  return takers.compute(uses);
}

// The part of a header's place that stands in the image even if the program cuts off the folder.
std::string_view file_name(std::string_view place) {
  const auto slash = place.rfind('/');
  if (slash == std::string_view::npos) return place;
  const auto name = place.substr(slash + 1);
  // A name such as `tuple` may stand there for another reason.
  return name.find('.') != std::string_view::npos ? name : place.substr(slash);
}

// Tells which headers' places are in an image that hides no strings.
class PlacesInImage {
 public:
  PlacesInImage(const Query& query, std::string_view image, const Closure& closure)
      : kind_(query.target.kind()),
        image_(image),
        closure_(closure),
        computes_path_(computes_path(query, closure)) {
    for (const auto& directory : query.search.directories()) {
      if (has(directory)) directories_.push_back(directory + '/');
    }
  }

  [[nodiscard]] bool have(const FoundHeader& found) const {
    if (computes_path_ && !found.in_toolkit && found.embedded == nullptr) return true;
    if (lies_in_shown_directory(found.path) && has(found.path)) return true;
    // A toolkit's headers are mostly named after what they declare, and only their macros tell a path.
    return closure_.own_text_tells_path && !found.in_toolkit && has(file_name(found.place()));
  }

 private:
  [[nodiscard]] bool has(std::string_view text) const {
    return shows_where([&](std::string_view part) { return image_.holds(part); }, kind_, text);
  }

  // Few programs show any path.
  [[nodiscard]] bool lies_in_shown_directory(const std::string& path) const {
    return std::ranges::any_of(
        directories_, [&](const std::string& directory) { return path.starts_with(directory); });
  }

  const ImageKind kind_;
  const TextIndex image_;
  const Closure& closure_;
  const bool computes_path_;
  std::vector<std::string> directories_;
};

// Whether bitcode may have a header's place.
bool may_be_in_bitcode(const FoundHeader& found, const Closure& closure) {
  return found.embedded == nullptr ||
         (found.in_toolkit ? closure.toolkit_tells_path : closure.own_text_tells_path);
}

// By its path the file is told from an embedded header of its text.
bool is_another_text_embedded(const FoundHeader& found,
                              const std::shared_ptr<const HeaderText>& text) {
  return found.embedded == nullptr && text && is_cut_short_in_memory(text->text);
}

}  // namespace

bool asks_for_line_information(const std::vector<std::string>& options) {
  constexpr std::array<std::string_view, 6> asking{
      "-G",        "--device-debug",       "-device-debug",
      "-lineinfo", "--generate-line-info", "-generate-line-info"};
  return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    return std::find(asking.begin(), asking.end(), option.substr(0, option.find('='))) !=
           asking.end();
  });
}

bool shows(std::string_view image, ImageKind kind, std::string_view text) {
  return shows_where([&](std::string_view part) { return holds(image, part); }, kind, text);
}

bool may_name_roots(const Query& query) {
  return !asks_for_line_information(query.program.options()) && !hides_strings(query.target.kind());
}

bool hides_working_directory(const std::vector<std::string>& options, ImageKind kind) {
  return hides_strings(kind) && !asks_for_line_information(options);
}

void record_output_paths(const Query& query, std::string_view image,
                         const std::string& working_directory, Closure& closure) {
  const bool all = asks_for_line_information(query.program.options());
  std::optional<PlacesInImage> places;
  if (!all && !hides_strings(query.target.kind())) places.emplace(query, image, closure);
  const auto is_shown = [&](const FoundHeader& found) {
    return all || (places ? places->have(found) : may_be_in_bitcode(found, closure));
  };
  for (std::size_t index = 0; index < closure.found.size(); ++index) {
    const auto& found = closure.found[index];
    if (!found.found() ||
        !(is_shown(found) || is_another_text_embedded(found, closure.texts[index])))
      continue;
    auto& lookup = closure.dependencies.lookups[index];
    lookup.path = found.place();
    if (all && found.embedded == nullptr) lookup.modified_ns = found.stamp.modified_ns;
  }
  if (!all) return;
  closure.dependencies.working_directory = working_directory;
  if (working_directory.empty() && closure.not_stored.empty())
    closure.not_stored = "line information has the working directory, which has no name any more";
}

}  // namespace kiln
