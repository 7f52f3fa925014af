#include "kiln/manifest.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/add_once.h"
#include "kiln/headers.h"
#include "manifest/manifest_json.h"
#include "system/whole_io.h"

namespace kiln {

namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::shared_ptr<const std::string>>;

// A header lies in one of these; a compiler's command line has room for no more.
constexpr std::uint64_t most_directories = 1 << 16;

/// Nothing where it cannot be read, as why_unread() then says.
std::optional<std::string> read_file(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  return system::read_file(path.c_str());
}

std::string why_unread(const fs::path& path) {
  std::error_code failure;
  const auto status = fs::status(path, failure);
  if (fs::exists(status) && !fs::is_regular_file(status)) return "it is no file";
  if (!failure && ::access(path.c_str(), R_OK) != 0) failure.assign(errno, std::generic_category());
  return failure ? failure.message() : "reading failed";
}

// Reads documents into programs. The first fault is kept; what comes after it is not looked at by anybody.
class ManifestReader {
 public:
  ManifestReader(const fs::path& file, fs::path folder)
      : file_(file.string()), folder_(std::move(folder)) {}

  void read(const Json& document) {
    place_ = file_;
    if (!is_object(document)) return;
    const auto version = document.find("kiln_manifest");
    if (version == document.end() || *version != manifest_version) {
      return wrong("kiln_manifest",
                   "must be 1: this is no manifest, which begins with {\"kiln_manifest\": 1, or "
                   "one of a newer kiln");
    }
    check_members(document, {"kiln_manifest", "targets", "image", "texts", "programs"});
    kind_ = image_kind(document, ImageKind::cubin);
    archs_ = strings(document, "targets");
    read_texts(document);
    const auto programs = document.find("programs");
    if (programs == document.end() || !programs->is_array())
      return wrong("programs", "must be a list of programs");
    for (const auto& program : *programs) read_program(program);
  }

  Result<std::vector<ListedProgram>> take() {
    if (fault_) return tl::unexpected(std::move(*fault_));
    return std::move(programs_);
  }

 private:
  void wrong(std::string_view field, std::string_view what,
             ErrorCode code = ErrorCode::invalid_argument) {
    if (fault_) return;
    const auto where = field.empty() ? place_ : fmt::format("{}: {}", place_, field);
    fault_ = Error{code, fmt::format("{}: {}", where, what), {}, 0};
  }

  bool is_object(const Json& value) {
    if (!value.is_object()) wrong("", "must be an object, {…}");
    return value.is_object();
  }

  void check_members(const Json& object, std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : object.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        wrong(name, fmt::format("there is no such field; there are {}", fmt::join(known, ", ")));
    }
  }

  template <class Value>
  Value value(const Json& object, const char* field, std::string_view must_be) {
    const auto at = object.find(field);
    if (at == object.end()) return {};
    try {
      return at->get<Value>();
    } catch (const Json::type_error&) {
      wrong(field, must_be);
      return {};
    }
  }

  std::string string(const Json& object, const char* field) {
    return value<std::string>(object, field, "must be a string");
  }

  std::vector<std::string> strings(const Json& object, const char* field) {
    return value<std::vector<std::string>>(object, field, "must be a list of strings");
  }

  bool flag(const Json& object, const char* field) {
    return value<bool>(object, field, "must be true or false");
  }

  ImageKind image_kind(const Json& object, ImageKind fallback) {
    const auto text = string(object, "image");
    if (!object.contains("image")) return fallback;
    const auto kind = parse_image_kind(text);
    if (!kind) wrong("image", kind.error().message);
    return kind ? *kind : fallback;
  }

  void read_texts(const Json& document) {
    const auto texts = document.find("texts");
    if (texts == document.end()) return;
    if (!texts->is_object()) return wrong("texts", "must be an object of texts by their digests");
    for (const auto& [digest, value] : texts->items()) {
      auto text = text_of(value);
      if (!text) return wrong("texts." + digest, "must be a string, or {\"hex\": \"…\"}");
      if (digest_of(*text).hex() != digest)
        return wrong("texts." + digest, "is not the digest of its text: the file is damaged");
      texts_.emplace(digest, std::make_shared<const std::string>(std::move(*text)));
    }
  }

  void read_program(const Json& program) {
    if (fault_) return;
    place_ = fmt::format("{}: programs[{}]", file_, programs_.size());
    if (!is_object(program)) return;
    ListedProgram listed;
    listed.spec.name = string(program, "name");
    if (listed.spec.name.empty()) return wrong("name", "is missing");
    place_ += fmt::format(" ({})", listed.spec.name);
    listed.where = place_;
    check_members(program, {"name", "source", "source_file", "source_text", "source_word", "engine",
                            "kernels", "options", "include_dirs", "header_dirs", "headers",
                            "standard_headers", "recorded_headers", "working_directory",
                            "embedded_names", "targets", "image", "variants"});
    folders_of_sources_.clear();
    listed.spec.source = source_of(program, "default", listed);
    listed.spec.source_word = string(program, "source_word");
    listed.spec.engine = string(program, "engine");
    listed.spec.kernels = strings(program, "kernels");
    listed.spec.options = strings(program, "options");
    for (const auto& folder : strings(program, "include_dirs")) {
      if (folder.empty()) wrong("include_dirs", "names no folder");
      listed.spec.include_dirs.push_back(folder_ / folder);
    }
    read_variants(program, listed);
    add_folders_of_sources(listed.spec.include_dirs);
    read_headers(program, listed);
    listed.working_directory = string(program, "working_directory");
    read_embedded_names(program, listed);
    read_targets(program, listed);
    if (listed.from_record) return add_recorded(std::move(listed));
    check(listed);
    programs_.push_back(std::move(listed));
  }

  void read_variants(const Json& program, ListedProgram& listed) {
    const auto variants = program.find("variants");
    if (variants == program.end()) return;
    if (!variants->is_array()) return wrong("variants", "must be a list of variants");
    const auto program_place = place_;
    for (const auto& variant : *variants) {
      place_ = fmt::format("{}: variants[{}]", program_place, listed.spec.variants.size());
      if (is_object(variant)) listed.spec.variants.push_back(variant_of(variant, listed));
    }
    place_ = program_place;
  }

  VariantSpec variant_of(const Json& variant, ListedProgram& listed) {
    check_members(variant, {"name", "since", "file", "source", "source_file", "source_text",
                            "options", "kernels"});
    VariantSpec spec{.name = string(variant, "name"),
                     .since = string(variant, "since"),
                     .file = string(variant, "file")};
    if (sources_in(variant) > 0) spec.source = source_of(variant, spec.name, listed);
    if (variant.contains("options")) spec.options = strings(variant, "options");
    const auto kernels = variant.find("kernels");
    if (kernels == variant.end()) return spec;
    if (!kernels->is_object()) wrong("kernels", "must be an object of expressions by expressions");
    if (!kernels->is_object()) return spec;
    for (const auto& [asked, own] : kernels->items()) {
      if (!own.is_string()) wrong("kernels." + asked, "must be a string");
      if (own.is_string()) spec.kernels.emplace(asked, own.get<std::string>());
    }
    return spec;
  }

  static std::size_t sources_in(const Json& program) {
    return program.count("source") + program.count("source_file") + program.count("source_text");
  }

  // Of a program, or of the variant of this name.
  std::string source_of(const Json& program, const std::string& variant, ListedProgram& listed) {
    const auto given = sources_in(program);
    if (given != 1) wrong("source", "give one of source, source_file and source_text");
    if (program.contains("source")) return string(program, "source");
    if (program.contains("source_text")) {
      const auto text = texts_.find(string(program, "source_text"));
      if (text != texts_.end()) return *text->second;
      wrong("source_text", "names no text of the manifest");
      return {};
    }
    const auto path = folder_ / string(program, "source_file");
    folders_of_sources_.push_back(path.parent_path());
    listed.source_files.emplace(variant, path);
    auto text = read_file(path);
    if (!text && given == 1)
      wrong("source_file",
            fmt::format("cannot read {}: {}; relative paths begin at the manifest", path.string(),
                        why_unread(path)),
            ErrorCode::io_failed);
    return std::move(text).value_or("");
  }

  // As for other compilers, a file finds what lies beside it.
  void add_folders_of_sources(std::vector<fs::path>& include_dirs) {
    std::vector<fs::path> folders;
    for (auto& folder : folders_of_sources_) {
      if (std::find(folders.begin(), folders.end(), folder) == folders.end())
        folders.push_back(std::move(folder));
    }
    include_dirs.insert(include_dirs.begin(), folders.begin(), folders.end());
  }

  void read_headers(const Json& program, ListedProgram& listed) {
    listed.from_record = program.contains("recorded_headers");
    if (listed.from_record) {
      const auto& recorded = program["recorded_headers"];
      if (!recorded.is_object()) return wrong("recorded_headers", "must be an object");
      for (const auto& [name, value] : recorded.items()) read_recorded(name, value, listed);
    } else {
      read_given(program, listed);
    }
    if (flag(program, "standard_headers")) listed.spec.headers.push_back(standard_headers());
  }

  void read_given(const Json& program, ListedProgram& listed) {
    std::vector<HeaderSet::NamedText> own;
    if (const auto headers = program.find("headers"); headers != program.end()) {
      if (!headers->is_object())
        return wrong("headers", "must be an object of texts by their names");
      for (const auto& [name, value] : headers->items()) {
        if (!value.is_string()) return wrong("headers." + name, "must be a string");
        own.push_back({name, value.get<std::string>()});
      }
    }
    if (!own.empty()) listed.spec.headers.push_back(HeaderSet::from_texts(std::move(own)));
    for (const auto& folder : strings(program, "header_dirs")) read_folder(folder, listed);
    listed.spec.headers.push_back(device_headers());
  }

  void read_directory(const std::string& name, const Json& value, RecordedHeader& header) {
    if (!value.contains("directory")) return;
    const auto& number = value["directory"];
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() > most_directories)
      return wrong("recorded_headers." + name, "has a directory that is no number of one");
    header.directory = number.get<std::uint32_t>();
  }

  void read_recorded(const std::string& name, const Json& value, ListedProgram& listed) {
    RecordedHeader header{name, nullptr};
    std::string digest;
    if (value.is_string()) digest = value.get<std::string>();
    if (value.is_object()) {
      check_members(value, {"text", "path", "directory"});
      digest = string(value, "text");
      header.path = string(value, "path");
      read_directory(name, value, header);
    }
    if (!value.is_null()) {
      const auto text = texts_.find(digest);
      if (text == texts_.end())
        return wrong("recorded_headers." + name, "names no text of the manifest");
      header.text = text->second;
    }
    listed.recorded.push_back(std::move(header));
  }

  void read_embedded_names(const Json& program, ListedProgram& listed) {
    if (!program.contains("embedded_names")) return;
    const auto names = texts_.find(string(program, "embedded_names"));
    if (names == texts_.end()) return wrong("embedded_names", "names no text of the manifest");
    listed.embedded_names = names->second;
  }

  // Each file below it becomes an embedded header under its path from there.
  void read_folder(const std::string& named, ListedProgram& listed) {
    const auto folder = folder_ / named;
    std::error_code failure;
    fs::recursive_directory_iterator entries(folder, failure);
    std::vector<HeaderSet::NamedText> texts;
    for (; !failure && entries != fs::end(entries); entries.increment(failure)) {
      if (!entries->is_regular_file(failure) || failure) continue;
      auto text = read_file(entries->path());
      const auto name = entries->path().lexically_relative(folder).generic_string();
      if (!text)
        return wrong("header_dirs", "cannot read " + entries->path().string(),
                     ErrorCode::io_failed);
      texts.push_back({name, std::move(*text)});
    }
    if (failure)
      return wrong("header_dirs",
                   fmt::format("cannot read {}: {}", folder.string(), failure.message()),
                   ErrorCode::io_failed);
    listed.spec.headers.push_back(HeaderSet::from_texts(std::move(texts)));
    listed.header_dirs.push_back(folder);
  }

  void read_targets(const Json& program, ListedProgram& listed) {
    listed.kind = image_kind(program, kind_);
    const auto archs = program.contains("targets") ? strings(program, "targets") : archs_;
    for (const auto& arch : archs) {
      auto target = Target::parse(arch, listed.kind);
      if (!target) return wrong("targets", target.error().message);
      if (!add_once(listed.targets, std::move(*target)))
        return wrong("targets", arch + " stands there twice");
    }
  }

  // What Program::make() refuses, and what was listed before.
  void check(const ListedProgram& listed) {
    if (fault_) return;
    if (const auto made = Program::make(listed.spec); !made) return wrong("", made.error().message);
    const auto what = identity(listed);
    for (const auto& target : listed.targets) {
      const auto [at, added] =
          seen_.emplace(std::tuple(what, target.arch(), target.kind()), listed.where);
      if (!added)
        wrong("targets", fmt::format("{} is listed already, as {}", target.arch(), at->second));
    }
  }

  // A record has a line for each target; two processes that did not see each other's, the same twice.
  void add_recorded(ListedProgram listed) {
    if (fault_) return;
    if (const auto made = Program::make(listed.spec); !made) return wrong("", made.error().message);
    const auto [at, added] = recorded_.emplace(identity(listed), programs_.size());
    if (added) return programs_.push_back(std::move(listed));
    for (auto& target : listed.targets) add_once(programs_[at->second].targets, std::move(target));
  }

  static Digest identity(const ListedProgram& listed) {
    const auto& spec = listed.spec;
    Json all{spec.name,
             digest_of(spec.source).hex(),
             spec.source_word,
             spec.engine,
             spec.options,
             spec.kernels,
             listed.working_directory,
             listed.embedded_names ? digest_of(*listed.embedded_names).hex() : std::string()};
    for (const auto& folder : spec.include_dirs) all.push_back(folder.string());
    for (const auto& variant : spec.variants) all.push_back(identity(variant));
    for (const auto& set : spec.headers) {
      for (const auto& header : set.headers()) all.push_back({header.name, header.digest.hex()});
    }
    for (const auto& header : listed.recorded)
      all.push_back(
          {header.name, header.path, header.text ? digest_of(*header.text).hex() : std::string()});
    return digest_of(all.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  static Json identity(const VariantSpec& variant) {
    Json all{variant.name, variant.since, variant.file, variant.kernels};
    all.push_back(variant.source ? Json(digest_of(*variant.source).hex()) : Json());
    all.push_back(variant.options ? Json(*variant.options) : Json());
    return all;
  }

  const std::string file_;
  const fs::path folder_;
  std::vector<fs::path> folders_of_sources_;  ///< Of the program that is read.
  std::string place_;                         // What faults are said to be in.
  std::optional<Error> fault_;
  ImageKind kind_ = ImageKind::cubin;
  std::vector<std::string> archs_;
  Texts texts_;
  std::map<std::tuple<Digest, std::string, ImageKind>, std::string> seen_;
  std::map<Digest, std::size_t> recorded_;  // Their places among the programs.
  std::vector<ListedProgram> programs_;
};

// A source, as a rule: what a parser says of its first character helps nobody.
bool is_no_json_at_all(const fs::path& file, std::string_view text) {
  constexpr std::array<std::string_view, 3> of_sources{".cu", ".cuh", ".cpp"};
  if (std::ranges::find(of_sources, file.extension().string()) != of_sources.end()) return true;
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] != '{' && text[first] != '[';
}

}  // namespace

Result<std::vector<ListedProgram>> read_manifest(const std::filesystem::path& file) {
  std::error_code told_by_the_reading;
  if (fs::is_directory(file, told_by_the_reading)) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot read the manifest {}: it is no file but a folder; `kiln "
                            "prewarm --from` and `kiln import` take that of a cache",
                            file.string()));
  }
  const auto text = read_file(file);
  if (!text) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot read the manifest {}: {}; name a manifest, or a record that "
                            "KILN_RECORD made",
                            file.string(), why_unread(file)));
  }
  if (text->starts_with("SQLite format 3")) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: it is no manifest but a bundle or a cache: `kiln prewarm --from` "
                            "and `kiln import` take those",
                            file.string()));
  }
  const auto documents = read_documents(*text);
  if (!documents) {
    if (is_no_json_at_all(file, *text)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: it is no manifest, which is JSON and begins with "
                              "{{\"kiln_manifest\": 1; `kiln compile` compiles a source",
                              file.string()));
    }
    return fail(documents.error().code,
                fmt::format("{}: {}", file.string(), documents.error().message));
  }
  std::error_code no_working_directory;
  const auto absolute = fs::absolute(file, no_working_directory);
  if (no_working_directory) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("cannot read the manifest {}: the working directory is gone: name an "
                            "absolute path",
                            file.string()));
  }
  ManifestReader reader(file, absolute.parent_path());
  for (const auto& document : *documents) reader.read(document);
  return reader.take();
}

}  // namespace kiln
