#include "manifest/source_tree.h"

#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/contained_folder.h"
#include "kiln/link.h"
#include "kiln/sources.h"
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

  Result<void> write(const PlacedText& placed) {
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
                               const TextOf& text_of) {
  const auto contained = ContainedFolder::make(folder);
  if (!contained) return tl::unexpected(contained.error());
  Layout layout(*contained, text_of);
  LaidOutSources result;
  for (const auto& placed : tree) {
    auto written = layout.write(placed);
    if (!written && result.files.empty()) return tl::unexpected(std::move(written.error()));
    if (written) {
      result.files.push_back(folder / fs::path(placed.place).relative_path());
    } else {
      result.skipped.push_back(std::move(written.error().message));
    }
  }
  return result;
}

}  // namespace

std::vector<PlacedText> source_tree_of(const Request& request, const DependencySet& dependencies) {
  const auto program = fs::path(virtual_name(request.program)).lexically_normal().string();
  std::vector<PlacedText> tree{{program, request.source}};
  std::set<std::pair<std::string, Digest>> known{{program, request.source}};
  Placing placing(program, dependencies);
  for (const auto& lookup : dependencies.lookups) {
    const auto& place = placing.next(lookup);
    // What was only asked for was not read, and its text not kept.
    if (lookup.content.empty() || lookup.reach == Dependency::Reach::presence) continue;
    if (known.emplace(place, lookup.content).second)
      tree.push_back({place, lookup.content, lookup.modified_ns});
  }
  return tree;
}

Result<LaidOutSources> lay_out_sources(Cache& cache, const StoredEntry& entry,
                                       const fs::path& folder) {
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
  auto laid_out = lay_out(source_tree_of(entry.request, entry.dependencies), folder,
                          [&](const Digest& digest) { return cache.text(digest); });
  if (laid_out) laid_out->line_information = asks_for_line_information(entry.request.options);
  return laid_out;
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
