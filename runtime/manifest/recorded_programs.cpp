#include "manifest/recorded_programs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/add_once.h"
#include "base/working_directory.h"
#include "kiln/headers.h"
#include "kiln/link.h"
#include "manifest/recorded_headers.h"
#include "source/header_search.h"

namespace kiln {

namespace {

// How recorded headers compare with those that this machine's toolkit has under their names.
struct AgainstToolkit {
  bool contradicts = false;
  std::vector<HeaderSet::SharedText> lacking;  // Those that the toolkit does not have.
  std::set<std::string_view> alike;            // The names of those that it has.
};

std::vector<HeaderSet::SharedText> all_of(const std::vector<RecordedHeader>& recorded) {
  std::vector<HeaderSet::SharedText> all;
  for (const auto& header : recorded) {
    if (header.text) all.push_back({header.name, header.text});
  }
  return all;
}

// What is known of the headers that were embedded: the names of all, or of those whose names reach the output.
class EmbeddedThen {
 public:
  explicit EmbeddedThen(const ListedProgram& listed) : told_(listed.embedded_names != nullptr) {
    std::string_view rest = told_ ? std::string_view(*listed.embedded_names) : std::string_view();
    for (std::size_t end = 0; (end = rest.find('\0')) != rest.npos; rest.remove_prefix(end + 1))
      names_.insert(rest.substr(0, end));
    for (const auto& header : listed.recorded) {
      if (!header.path.empty() && !header.path.starts_with('/')) names_.insert(header.name);
    }
  }

  /// Whether what was not embedded lay on the disk.
  [[nodiscard]] bool told() const noexcept { return told_; }

  [[nodiscard]] const std::set<std::string_view>& names() const noexcept { return names_; }

 private:
  const bool told_;
  std::set<std::string_view> names_;
};

AgainstToolkit compare(const std::vector<RecordedHeader>& recorded, const EmbeddedThen& embedded,
                       const HeaderFinder& toolkit, HeaderFiles& files) {
  AgainstToolkit result;
  for (const auto& header : recorded) {
    const auto here = toolkit.find(header.name);
    if (header.text && (!here.found() || embedded.names().contains(header.name))) {
      result.lacking.push_back({header.name, header.text});
    } else if (here.found()) {
      result.contradicts |=
          !header.text || files.digest(here.path, here.stamp) != digest_of(*header.text);
      result.alike.insert(header.name);
    }
  }
  return result;
}

// For a header whose path reaches the output: its include directory, if the header lies there on this machine too.
std::string directory_of(const RecordedHeader& header, HeaderFiles& files) {
  const auto& path = header.path;
  if (!header.text || !path.starts_with('/') || !path.ends_with('/' + header.name)) return {};
  const auto here = HeaderFinder::find_file(path);
  if (!here.found() || files.digest(here.path, here.stamp) != digest_of(*header.text)) return {};
  return path.substr(0, path.size() - header.name.size() - 1);
}

// Why an image made here would hold other paths than the recorded one; empty if it would not.
std::string misplaced(const ListedProgram& listed, const HeaderFinder& toolkit,
                      bool toolkit_is_searched, HeaderFiles& files) {
  if (!listed.working_directory.empty() && working_directory() != listed.working_directory) {
    return fmt::format("the working directory {} reaches the output: run kiln there",
                       listed.working_directory);
  }
  for (const auto& header : listed.recorded) {
    if (header.path.empty() || header.path == header.name) continue;
    if (toolkit_is_searched && toolkit.find(header.name).path == header.path) continue;
    if (!directory_of(header, files).empty()) continue;
    return fmt::format(
        "the path {} of header {} reaches the output, and the record does not bring it "
        "back: prewarm it from a manifest with its include_dirs",
        header.path, header.name);
  }
  return {};
}

// NVRTC takes an embedded header before the neighbour that a toolkit's header quotes by the same spelling.
bool shadows_neighbours(const AgainstToolkit& headers) {
  return std::any_of(
      headers.lacking.begin(), headers.lacking.end(), [&](const HeaderSet::SharedText& lacking) {
        return std::any_of(headers.alike.begin(), headers.alike.end(), [&](std::string_view name) {
          return name.size() > lacking.name.size() && name.ends_with(lacking.name) &&
                 name[name.size() - lacking.name.size() - 1] == '/';
        });
      });
}

// A program that is rebuilt from entries of a cache, and the headers of these entries.
struct Rebuilt {
  ListedProgram listed;
  NamedHeaders headers;
  std::vector<DependencySet> recorded;
};

using SharedText = Result<std::shared_ptr<const std::string>>;
using SharedTextOf = std::function<SharedText(const Digest& digest)>;

SharedText text_of(const Digest& digest, const Closure& here, const StoredText& stored_text) {
  for (const auto& header : here.texts) {
    if (header && header->digest == digest)
      return std::shared_ptr<const std::string>(header, &header->text);
  }
  auto text = stored_text(digest);
  if (!text) return tl::unexpected(std::move(text.error()));
  return std::make_shared<const std::string>(std::move(*text));
}

// All sets that a program embedded.
using Embedded = std::vector<HeaderSet>;

// The names of this digest, where they are those of one of these; else null.
std::shared_ptr<const std::string> text_of_names(const Digest& digest,
                                                 const std::vector<Embedded>& candidates) {
  if (digest.empty()) return nullptr;
  for (const auto& sets : candidates) {
    auto names = std::make_shared<const std::string>(names_of(sets));
    if (digest_of(*names) == digest) return names;
  }
  return nullptr;
}

// Whether a header found its neighbour in a way in which only a file does.
bool finds_as_file(const DependencySet& set) {
  return std::ranges::any_of(
      set.lookups, [](const Dependency& lookup) { return lookup.as_spelled && lookup.beside; });
}

std::optional<Error> add_headers(ListedProgram& listed, const NamedHeaders& headers,
                                 const std::vector<DependencySet>& recorded,
                                 const std::vector<Embedded>& may_be_embedded,
                                 const SharedTextOf& text_of) {
  std::map<std::string, std::string> paths;
  std::map<std::string, std::uint32_t> directories;
  for (const auto& set : recorded) {
    paths.merge(paths_of(set, headers));
    directories.merge(directories_of(set));
    if (!set.working_directory.empty()) listed.working_directory = set.working_directory;
    if (auto names = text_of_names(set.embedded_names, may_be_embedded))
      listed.embedded_names = std::move(names);
  }
  if (!listed.embedded_names && std::ranges::any_of(recorded, finds_as_file))
    listed.embedded_names = std::make_shared<const std::string>(names_of(may_be_embedded.front()));
  for (const auto& [name, content] : headers) {
    RecordedHeader header{name, nullptr, std::move(paths[name])};
    if (const auto number = directories.find(name); number != directories.end())
      header.directory = number->second;
    if (!content.empty()) {
      auto text = text_of(content);
      if (!text) return text.error();
      header.text = std::move(*text);
    }
    listed.recorded.push_back(std::move(header));
  }
  return std::nullopt;
}

std::vector<HeaderSet> standard_headers_of(bool offered) {
  return offered ? std::vector{standard_headers()} : std::vector<HeaderSet>();
}

// Whether any embedded header may count in both, and they were not the same.
bool embed_others(const DependencySet& left, const DependencySet& right) {
  return !left.embedded_names.empty() && !right.embedded_names.empty() &&
         left.embedded_names != right.embedded_names;
}

class CacheReader {
 public:
  explicit CacheReader(Cache& cache) : cache_(cache) {}

  Result<RecordedPrograms> run() {
    auto entries = cache_.list();
    if (!entries) return tl::unexpected(std::move(entries.error()));
    // The newest first, so that it is the older ones that have to fit.
    std::stable_sort(entries->begin(), entries->end(), [](const auto& left, const auto& right) {
      return left.created > right.created;
    });
    for (const auto& summary : *entries) {
      const auto added = add(summary.key);
      if (!added) result_.failures.push_back({summary.program, summary.arch, added.error()});
    }
    for (auto& [request, programs] : programs_) {
      for (auto& program : programs) finish(std::move(program));
    }
    return std::move(result_);
  }

  Result<ListedProgram> run(const Digest& key) {
    if (const auto added = add(key); !added) return tl::unexpected(added.error());
    for (auto& [request, programs] : programs_) finish(std::move(programs.front()));
    if (!result_.programs.empty()) return std::move(result_.programs.front());
    if (!result_.failures.empty()) return tl::unexpected(result_.failures.front().error);
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} was made of other images, and is no program", key.hex()));
  }

 private:
  Outcome add(const Digest& key) {
    const auto entry = cache_.entry(key);
    if (!entry) return tl::unexpected(entry.error());
    // It is no program. The programs that its images were compiled from have entries of their own.
    if (made_of_images(entry->request)) return {};
    const auto kind = parse_image_kind(entry->request.kind);
    if (!kind) return tl::unexpected(kind.error());
    auto target = Target::parse(entry->request.arch, *kind);
    if (!target) return tl::unexpected(target.error());
    auto headers = name_headers(entry->dependencies);
    if (!headers) return tl::unexpected(headers.error());
    auto spec = spec_of(entry->request);
    if (!spec) return tl::unexpected(spec.error());

    auto& program = place_of(entry->request, entry->dependencies, *headers);
    program.listed.spec = std::move(*spec);
    add_once(program.listed.targets, std::move(*target));
    return {};
  }

  Result<ProgramSpec> spec_of(const Request& request) {
    // Names all, so that one that is added is not forgotten.
    const auto& [program, digest, bytes, options, expressions, arch, kind, standard_headers,
                 engine] = request;
    const auto source = text(digest, program);
    if (!source) return tl::unexpected(source.error());
    return ProgramSpec{.name = program,
                       .source = **source,
                       .headers = standard_headers_of(standard_headers),
                       .kernels = expressions,
                       .options = options,
                       .engine = engine};
  }

  // The program of the same request whose headers these entry's do not contradict; else a new one.
  Rebuilt& place_of(const Request& request, const DependencySet& recorded,
                    const NamedHeaders& headers) {
    auto without_target = request;
    without_target.arch.clear();
    without_target.kind.clear();
    auto& programs = programs_[without_target.material()];
    for (auto& program : programs) {
      auto merged = program.headers;
      if (!merge(merged, headers) || !holds(recorded, merged)) continue;
      if (!std::all_of(program.recorded.begin(), program.recorded.end(),
                       [&](const DependencySet& other) {
                         return holds(other, merged) && !embed_others(other, recorded);
                       }))
        continue;
      program.headers = std::move(merged);
      add_once(program.recorded, recorded);
      return program;
    }
    return programs.emplace_back(Rebuilt{{}, headers, {recorded}});
  }

  void finish(Rebuilt program) {
    auto& listed = program.listed;
    std::sort(
        listed.targets.begin(), listed.targets.end(), [](const auto& left, const auto& right) {
          return std::tuple(left.arch(), left.kind()) < std::tuple(right.arch(), right.kind());
        });
    listed.kind = listed.targets.front().kind();
    listed.from_record = true;
    listed.where = listed.spec.name;
    // A cache has the digest of the names alone, which tells kiln's own.
    auto with_device_headers = listed.spec.headers;
    with_device_headers.push_back(device_headers());
    const auto fault = add_headers(listed, program.headers, program.recorded,
                                   {listed.spec.headers, with_device_headers},
                                   [&](const Digest& digest) { return text(digest, "a header"); });
    if (!fault) return result_.programs.push_back(std::move(listed));
    for (const auto& target : listed.targets)
      result_.failures.push_back({listed.spec.name, target.arch(), *fault});
  }

  SharedText text(const Digest& digest, const std::string& what) {
    auto& known = texts_[digest];
    if (known) return known;
    auto found = cache_.text(digest);
    if (!found && found.error().code == ErrorCode::not_found) {
      return fail(ErrorCode::not_found,
                  fmt::format("the text of {} is not in it: it was stored without sources", what));
    }
    if (!found) return tl::unexpected(std::move(found.error()));
    known = std::make_shared<const std::string>(std::move(*found));
    return known;
  }

  Cache& cache_;
  RecordedPrograms result_;
  std::map<std::string, std::list<Rebuilt>> programs_;  // By request without the target.
  std::map<Digest, std::shared_ptr<const std::string>> texts_;
};

}  // namespace

namespace {

// Headers that lie here where they lay are not embedded, but searched there, so that their paths stay.
void take_from_their_places(const ListedProgram& listed, HeaderFiles& files,
                            std::vector<HeaderSet::SharedText>& lacking, ProgramSpec& spec) {
  for (const auto& header : listed.recorded) {
    const auto at = std::find_if(lacking.begin(), lacking.end(),
                                 [&](const auto& other) { return other.name == header.name; });
    if (at == lacking.end()) continue;
    const std::filesystem::path directory = directory_of(header, files);
    if (directory.empty()) continue;
    lacking.erase(at);
    add_once(spec.include_dirs, directory);
  }
}

// Stands for a header that was embedded and that nobody read: that it is there may count, its text does not.
std::shared_ptr<const std::string> text_of_unread() {
  return std::make_shared<const std::string>(
      "#error the record holds the name of this header alone, since nobody had read it\n");
}

// Those that can be files, by the directory that held them, in the order of the search. What nobody knows the directory of, also
// what was embedded, goes into the first: a file finds its neighbours on the disk, whatever is embedded under their names.
std::vector<std::vector<HeaderSet::SharedText>> by_directory(
    const ListedProgram& listed, const std::vector<HeaderSet::SharedText>& lacking) {
  std::map<std::string_view, std::uint32_t> numbers;
  for (const auto& header : listed.recorded) {
    if (header.directory) numbers.emplace(header.name, *header.directory);
  }
  std::map<std::uint32_t, std::vector<HeaderSet::SharedText>> known;
  std::vector<HeaderSet::SharedText> others;
  for (const auto& header : lacking) {
    if (!RecordedTrees::can_hold(header.name)) continue;
    const auto number = numbers.find(header.name);
    (number == numbers.end() ? others : known[number->second]).push_back(header);
  }
  std::vector<std::vector<HeaderSet::SharedText>> all;
  all.reserve(known.size() + 1);
  for (auto& [number, headers] : known) all.push_back(std::move(headers));
  if (all.empty()) all.emplace_back();
  all.front().insert(all.front().end(), others.begin(), others.end());
  return all;
}

// Lays out what lay on the disk, and leaves what was embedded, by all its names. Where nobody can tell which headers a compile
// asks for, what is made of embedded ones serves nobody whose headers are files.
Outcome put_in_place(const ListedProgram& listed, const EmbeddedThen& embedded,
                     std::vector<HeaderSet::SharedText>& lacking, RecordedTrees& trees,
                     ProgramSpec& spec) {
  const auto was_file = [&](const HeaderSet::SharedText& header) {
    return RecordedTrees::can_hold(header.name) && !embedded.names().contains(header.name);
  };
  if (std::ranges::any_of(lacking, was_file)) {
    std::vector<std::filesystem::path> directories;
    for (const auto& files : by_directory(listed, lacking)) {
      auto directory = trees.directory_of(files);
      if (!directory) return tl::unexpected(std::move(directory.error()));
      directories.push_back(std::move(*directory));
    }
    spec.include_dirs.insert(spec.include_dirs.begin(), directories.begin(), directories.end());
  }
  std::erase_if(lacking, was_file);
  std::vector<HeaderSet::SharedText> unread;
  const auto text = text_of_unread();
  for (const auto name : embedded.names()) unread.push_back({std::string(name), text});
  if (!unread.empty()) spec.headers.push_back(HeaderSet::from_shared(std::move(unread)));
  return {};
}

}  // namespace

Result<Program> make_listed(const ListedProgram& listed,
                            const std::vector<std::filesystem::path>& toolkit_dirs,
                            HeaderFiles& files, RecordedTrees& trees) {
  auto bare = Program::make({.name = listed.spec.name, .source = {}});
  if (!bare) return bare;
  const HeaderSearch search(*bare, toolkit_dirs);
  const HeaderFinder toolkit(search);
  const EmbeddedThen embedded(listed);
  auto compared = compare(listed.recorded, embedded, toolkit, files);
  auto spec = listed.spec;
  if (compared.contradicts || (!embedded.told() && shadows_neighbours(compared))) {
    spec.toolkit_headers = false;
    compared.lacking = all_of(listed.recorded);
  }
  if (const auto why = misplaced(listed, toolkit, spec.toolkit_headers, files); !why.empty())
    return fail(ErrorCode::invalid_argument, fmt::format("{}: {}", listed.spec.name, why));
  take_from_their_places(listed, files, compared.lacking, spec);
  if (embedded.told()) {
    if (auto put = put_in_place(listed, embedded, compared.lacking, trees, spec); !put)
      return tl::unexpected(std::move(put.error()));
  }
  // Before the standard ones, of which it may have had its own.
  if (!compared.lacking.empty())
    spec.headers.insert(spec.headers.begin(), HeaderSet::from_shared(std::move(compared.lacking)));
  return Program::make(std::move(spec));
}

Result<ListedProgram> list_request(const Query& query, const Closure& here,
                                   const Result<StoredEntry>& stored,
                                   const StoredText& stored_text) {
  const auto& program = query.program;
  if (!stored && !here.not_stored.empty())
    return fail(ErrorCode::invalid_argument, here.not_stored);
  const auto& found = stored ? stored->dependencies : here.dependencies;
  const auto headers = name_headers(found);
  if (!headers)
    return fail(headers.error().code,
                fmt::format("{}: {}", program.name(), headers.error().message));
  ListedProgram listed{.spec = {.name = program.name(),
                                .source = program.source(),
                                .headers = standard_headers_of(query.request.standard_headers),
                                .kernels = program.kernels(),
                                .options = program.options(),
                                .source_word = program.source_word(),
                                .engine = query.request.engine},
                       .from_record = true,
                       .targets = {query.target},
                       .kind = query.target.kind(),
                       .where = program.name()};
  const auto fault =
      add_headers(listed, *headers, {found}, {program.headers()},
                  [&](const Digest& digest) { return text_of(digest, here, stored_text); });
  if (fault) return tl::unexpected(*fault);
  return listed;
}

Result<RecordedPrograms> recorded_programs(Cache& cache) { return CacheReader(cache).run(); }

Result<ListedProgram> recorded_program(Cache& cache, const Digest& key) {
  return CacheReader(cache).run(key);
}

}  // namespace kiln
