#include "manifest/source_tree.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/add_once.h"
#include "base/contained_folder.h"
#include "kiln/link.h"
#include "kiln/sources.h"
#include "source/header_files.h"
#include "source/header_search.h"
#include "source/output_paths.h"
#include "source/places.h"

namespace kiln {

namespace {

namespace fs = std::filesystem;

// Where the headers lie of which the image tells no place.
constexpr const char* elsewhere = "/include";

// Places the headers of one entry in the order of its look-ups.
class Placing {
 public:
  Placing(std::string program, const DependencySet& dependencies)
      : program_(std::move(program)), dependencies_(dependencies) {}

  /// To be called for each look-up in order.
  const std::string& next(const Dependency& lookup) {
    return places_.emplace_back(place_of(lookup).lexically_normal().string());
  }

 private:
  [[nodiscard]] fs::path place_of(const Dependency& lookup) const {
    // The compiler takes an embedded header for a file of the working directory.
    if (!lookup.path.empty()) return in_working_directory(lookup.path);
    if (const auto* includer = includer_of(lookup))
      return fs::path(*includer).parent_path() / lookup.spelling;
    return fs::path(elsewhere) / name_of(lookup);
  }

  [[nodiscard]] fs::path in_working_directory(const std::string& path) const {
    const auto& working_directory = dependencies_.working_directory;
    return (working_directory.starts_with('/') ? fs::path(working_directory)
                                               : fs::path(elsewhere)) /
           path;
  }

  [[nodiscard]] const std::string* includer_of(const Dependency& lookup) const {
    if (!lookup.beside) return nullptr;
    if (lookup.parent == Dependency::source_parent) return &program_;
    return lookup.parent < places_.size() ? &places_[lookup.parent] : nullptr;
  }

  const std::string program_;
  const DependencySet& dependencies_;
  std::vector<std::string> places_;
};

// The folder that a compiler searches to find a header at its place; nothing where that is no matter of folders.
std::optional<std::string> include_dir_of(const Dependency& lookup, const std::string& place) {
  const auto name = "/" + fs::path(name_of(lookup)).lexically_normal().string();
  if (lookup.beside || !place.ends_with(name)) return std::nullopt;
  return place.substr(0, place.size() - name.size());
}

// Folders of this machine that a compiler searches as well.
class Present {
 public:
  explicit Present(const std::vector<fs::path>& folders) : folders_(folders) {}

  [[nodiscard]] bool has(const PlacedText& placed) {
    return std::any_of(folders_.begin(), folders_.end(), [&](const fs::path& folder) {
      return has(folder.string(), elsewhere, placed) ||
             has(folder.string(), folder.string(), placed);
    });
  }

 private:
  // `root`: what its place begins with.
  bool has(const std::string& folder, const std::string& root, const PlacedText& placed) {
    const auto name = below(root, placed.place);
    if (!name) return false;
    const auto here = HeaderFinder::find_file(folder + "/" + std::string(*name));
    return here.found() && files_.digest(here.path, here.stamp) == placed.text;
  }

  const std::vector<fs::path>& folders_;
  HeaderFiles files_;
};

using TextOf = std::function<Result<std::string>(const Digest& digest)>;

tl::unexpected<Error> stored_without(std::string_view what) {
  return fail(ErrorCode::not_found,
              fmt::format("the text of {} is not there: it was stored without sources", what));
}

// Writes one text, unless another one has its place.
class Layout {
 public:
  Layout(const ContainedFolder& folder, const TextOf& text_of)
      : folder_(folder), text_of_(text_of) {}

  Outcome write(const PlacedText& placed) {
    if (!taken_.insert(placed.place).second) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: other headers were read under this name too", placed.place));
    }
    const auto text = text_of_(placed.text);
    if (!text && text.error().code == ErrorCode::not_found) return stored_without(placed.place);
    if (!text) return tl::unexpected(text.error());
    return folder_.write(placed.place, *text, placed.modified_ns);
  }

 private:
  const ContainedFolder& folder_;
  const TextOf& text_of_;
  std::set<std::string> taken_;
};

// Only a program without a source is an error.
Result<LaidOutSources> lay_out(const std::vector<PlacedText>& tree, const fs::path& folder,
                               const TextOf& text_of,
                               const std::vector<fs::path>& folders_present = {}) {
  const auto contained = ContainedFolder::make(folder);
  if (!contained) return tl::unexpected(contained.error());
  Layout layout(*contained, text_of);
  Present present(folders_present);
  const auto in_folder = [&](const std::string& place) {
    return folder / fs::path(place).relative_path();
  };
  LaidOutSources result;
  for (const auto& placed : tree) {
    if (present.has(placed)) continue;
    auto written = layout.write(placed);
    if (!written && result.files.empty()) return tl::unexpected(std::move(written.error()));
    if (!written) {
      result.skipped.push_back(std::move(written.error().message));
      continue;
    }
    result.files.push_back(in_folder(placed.place));
    for (const auto& include_dir : placed.include_dirs)
      add_once(result.include_dirs, in_folder(include_dir));
  }
  return result;
}

}  // namespace

std::vector<PlacedText> source_tree_of(const Request& request, const DependencySet& dependencies) {
  const auto program = fs::path(virtual_name(request.program)).lexically_normal().string();
  std::vector<PlacedText> tree{{program, request.source}};
  std::map<std::pair<std::string, Digest>, std::size_t> known{{{program, request.source}, 0}};
  Placing placing(program, dependencies);
  for (const auto& lookup : dependencies.lookups) {
    const auto& place = placing.next(lookup);
    // What was only asked for was not read, and its text not kept.
    if (lookup.content.empty() || lookup.reach == Dependency::Reach::presence) continue;
    const auto [at, is_new] = known.emplace(std::pair(place, lookup.content), tree.size());
    if (is_new) tree.push_back({place, lookup.content, lookup.modified_ns});
    if (auto include_dir = include_dir_of(lookup, place))
      add_once(tree[at->second].include_dirs, std::move(*include_dir));
  }
  return tree;
}

Result<LaidOutSources> lay_out_sources(Cache& cache, const StoredEntry& entry,
                                       const fs::path& folder,
                                       const std::vector<fs::path>& present) {
  if (made_of_images(entry.request)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} was made of other images and has no source: name an entry that it "
                            "was made of",
                            entry.request.program));
  }
  // Before anything is made.
  if (const auto source = cache.text(entry.request.source);
      !source && source.error().code == ErrorCode::not_found) {
    return stored_without(entry.request.program);
  }
  auto laid_out = lay_out(
      source_tree_of(entry.request, entry.dependencies), folder,
      [&](const Digest& digest) { return cache.text(digest); }, present);
  if (laid_out) laid_out->line_information = asks_for_line_information(entry.request.options);
  return laid_out;
}

Result<LaidOutSources> lay_out_texts(const std::vector<HeaderSet::NamedText>& texts,
                                     const fs::path& folder) {
  const auto contained = ContainedFolder::make(folder);
  if (!contained) return tl::unexpected(contained.error());
  LaidOutSources result;
  result.include_dirs = {folder};
  for (const auto& [name, text] : texts) {
    const auto written = contained->write(name, text, 0);
    if (written) {
      result.files.push_back(folder / fs::path(name).relative_path());
    } else {
      result.skipped.push_back(written.error().message);
    }
  }
  return result;
}

SourcesDirectory::SourcesDirectory(fs::path folder, const Reporter& reporter)
    : folder_(std::move(folder)), reporter_(reporter) {}

void SourcesDirectory::lay_out(const Request& request, const DependencySet& dependencies,
                               const std::vector<Text>& texts) {
  std::map<Digest, std::string_view> known;
  for (const auto& text : texts) known.emplace(text.digest, text.bytes);
  const auto text_of = [&](const Digest& digest) -> Result<std::string> {
    const auto at = known.find(digest);
    if (at == known.end()) return fail(ErrorCode::not_found, "");
    return std::string(at->second);
  };
  const auto laid_out = kiln::lay_out(source_tree_of(request, dependencies), folder_, text_of);
  if (!laid_out) {
    warn(laid_out.error().message);
  } else if (!laid_out->skipped.empty()) {
    warn(laid_out->skipped.front());
  }
}

void SourcesDirectory::warn(const std::string& why) {
  if (warned_.exchange(true)) return;
  reporter_.warn(fmt::format("KILN_SOURCES_DIR: not all sources are laid out: {}", why));
}

}  // namespace kiln
