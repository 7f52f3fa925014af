#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json.h"
#include "kiln/kiln.h"
#include "output.h"
#include "verbs.h"
#include "verbs/clang_command.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;
using Texts = std::vector<HeaderSet::NamedText>;

constexpr const char* prelude_name = "clang_prelude.h";

// The commands that are found, and what is not.
struct Found {
  std::vector<SourceForClang> sources;
  std::vector<std::string> skipped;  // Of each program and each file, and why.
};

// The folder for what has no file of its own. Each program has a folder in it that is named after what it holds, so that
// programs of one name do not meet, and those that read the same share it.
class SourcesFolder {
 public:
  SourcesFolder(const fs::path& folder, Found& found)
      : folder_(absolute_path(folder)), found_(found) {
    const auto prelude =
        lay_out_texts({{prelude_name, std::string(clang_prelude)}}, folder_).value();
    if (!prelude.skipped.empty()) refuse(ErrorCode::io_failed, prelude.skipped.front());
  }

  [[nodiscard]] const fs::path& path() const { return folder_; }
  [[nodiscard]] fs::path prelude() const { return folder_ / prelude_name; }

  const LaidOutSources& lay_out(const Texts& texts) {
    std::string all;
    for (const auto& [name, text] : texts) all += name + '\0' + digest_of(text).hex();
    return once(all, [&](const fs::path& folder) { return lay_out_texts(texts, folder).value(); });
  }

  // An entry's program and headers, but for those that the toolkit has. Entries of one program share them.
  const LaidOutSources& lay_out(Cache& cache, const StoredEntry& entry,
                                const std::vector<fs::path>& toolkit_dirs) {
    const auto& request = entry.request;
    return once(request.program + '\0' + request.source.hex() + entry.dependencies.material(),
                [&](const fs::path& folder) {
                  return lay_out_sources(cache, entry, folder, toolkit_dirs).value();
                });
  }

 private:
  // What has been written is not written again.
  template <class Write>
  const LaidOutSources& once(std::string_view what, const Write& write) {
    const auto folder = folder_ / digest_of(what).hex().substr(0, 12);
    if (const auto known = known_.find(folder); known != known_.end()) return known->second;
    auto laid_out = write(folder);
    found_.skipped.insert(found_.skipped.end(), laid_out.skipped.begin(), laid_out.skipped.end());
    return known_.emplace(folder, std::move(laid_out)).first->second;
  }

  const fs::path folder_;
  Found& found_;
  std::map<fs::path, LaidOutSources> known_;
};

// What all commands have in common.
struct Common {
  std::string arch;  // The one that was asked for, or none.
  std::vector<fs::path> toolkit_dirs;
  SourcesFolder& folder;
  Found& found;
};

// Does the work for one program. What goes wrong leaves it out, and no other.
template <class Work>
void attempt(Found& found, const std::string& name, const Work& work) {
  try {
    work();
  } catch (const Failure& failure) {
    found.skipped.push_back(fmt::format("{}: {}", name, failure.error().message));
  }
}

// Of the headers that a program brings along, those that none of these folders has alike: the first of each name.
Texts texts_of(const Program& program, const std::vector<fs::path>& header_dirs) {
  Texts texts;
  std::set<std::string_view> names;
  const auto lies_in = [](const fs::path& folder, const EmbeddedHeader& header) {
    const auto file = folder / header.name;
    std::error_code none;
    return fs::is_regular_file(file, none) && read_input(file) == header.text();
  };
  for (const auto& set : program.headers()) {
    for (const auto& header : set.headers()) {
      const bool lies_there = std::any_of(header_dirs.begin(), header_dirs.end(),
                                          [&](const auto& dir) { return lies_in(dir, header); });
      if (names.insert(header.name).second && !lies_there)
        texts.push_back({std::string(header.name), std::string(header.text())});
    }
  }
  return texts;
}

// The file of a program, or of its variant. A text that a manifest holds itself is laid out.
fs::path file_of(const ListedProgram& listed, const ProgramChoice& choice, SourcesFolder& folder) {
  const auto& program = choice.program();
  const auto& variants = listed.spec.variants;
  const auto variant = std::find_if(variants.begin(), variants.end(), [&](const auto& other) {
    return other.name == choice.variant();
  });
  const bool has_own_source = variant != variants.end() && variant->source;
  const auto file = listed.source_files.find(has_own_source ? variant->name : "default");
  if (file != listed.source_files.end()) return absolute_path(file->second);
  const auto& laid_out = folder.lay_out({{program.name(), program.source()}});
  if (laid_out.files.empty()) refuse(ErrorCode::io_failed, "its source cannot be laid out");
  return laid_out.files.front();
}

void add_choice(const ListedProgram& listed, const ProgramChoice& choice, const Target& target,
                const Common& common) {
  const auto& program = choice.program();
  SourceForClang source{.file = file_of(listed, choice, common.folder),
                        .arch = target.arch(),
                        .options = program.options()};
  if (const auto texts = texts_of(program, listed.header_dirs); !texts.empty())
    source.include_dirs = common.folder.lay_out(texts).include_dirs;
  for (const auto& folder : listed.header_dirs)
    source.include_dirs.push_back(absolute_path(folder));
  for (const auto& folder : program.include_dirs())
    source.include_dirs.push_back(absolute_path(folder));
  if (program.toolkit_headers()) source.toolkit_dirs = common.toolkit_dirs;
  common.found.sources.push_back(std::move(source));
}

// Without "native": no device is asked.
std::vector<Target> targets_of(const ListedProgram& listed, const std::string& arch) {
  if (!arch.empty()) return {Target::parse(arch, ImageKind::ptx).value()};
  auto targets = listed.targets;
  std::erase_if(targets, [](const Target& target) { return target.is_native(); });
  if (targets.empty()) {
    refuse(ErrorCode::invalid_argument, "no target: name one in the manifest, or with --arch");
  }
  return targets;
}

// A program once, and each of its variants that a target chooses: for the first such target.
void add_listed(Runtime& runtime, const ListedProgram& listed, const Common& common) {
  const auto program = runtime.program_of(listed).value();
  std::set<std::string_view> variants;
  for (const auto& target : targets_of(listed, common.arch)) {
    const auto choice = program.for_target(target);
    if (variants.insert(choice.variant()).second) add_choice(listed, choice, target, common);
  }
}

void add_manifest(Runtime& runtime, const fs::path& manifest, const Common& common) {
  auto programs = read_manifest(manifest).value();
  for (auto& listed : programs) {
    // So that a record's headers are texts to be laid out here, and no files that go with the runtime.
    listed.embedded_names = nullptr;
    attempt(common.found, listed.where, [&] { add_listed(runtime, listed, common); });
  }
}

// "sm_90a" comes after "sm_90", and both after "compute_86".
std::tuple<unsigned, std::string_view> order_of(std::string_view arch) {
  const auto digits = arch.substr(std::min(arch.find('_') + 1, arch.size()));
  unsigned number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return {number, arch};
}

// What is compiled whatever the architecture: entries that agree in it are one program.
Digest program_of(const StoredEntry& entry) {
  auto request = entry.request;
  request.arch.clear();
  request.kind.clear();
  return digest_of(request.material() + entry.dependencies.material());
}

// Of each program that is stored the entry for the highest architecture. Links and fatbins are of programs that have entries
// of their own.
std::map<Digest, EntrySummary> programs_in(Cache& cache, Found& found) {
  std::map<Digest, EntrySummary> programs;
  const auto entries = cache.list().value();
  for (const auto& summary : entries) {
    attempt(found, summary.program, [&] {
      const auto entry = cache.entry(summary.key).value();
      if (made_of_images(entry.request)) return;
      auto& highest = programs.try_emplace(program_of(entry), summary).first->second;
      if (order_of(highest.arch) < order_of(summary.arch)) highest = summary;
    });
  }
  return programs;
}

void add_entry(Cache& cache, const Digest& key, const Common& common) {
  const auto entry = cache.entry(key).value();
  const auto& sources = common.folder.lay_out(cache, entry, common.toolkit_dirs);
  common.found.sources.push_back({.file = sources.files.front(),
                                  .arch = common.arch.empty() ? entry.request.arch : common.arch,
                                  .options = entry.request.options,
                                  .include_dirs = sources.include_dirs,
                                  .toolkit_dirs = common.toolkit_dirs});
}

void add_cache(Cache& cache, const Common& common) {
  for (const auto& program : programs_in(cache, common.found)) {
    const auto& summary = program.second;
    attempt(common.found, summary.program, [&] { add_entry(cache, summary.key, common); });
  }
}

// Each command as clang's tools read it, once.
std::set<std::string> commands_of(Found& found, const fs::path& prelude) {
  std::set<std::string> commands;
  for (const auto& source : found.sources) {
    const Json command{{"directory", source.file.parent_path().string()},
                       {"file", source.file.string()},
                       {"arguments", clang_command(source, prelude)}};
    try {
      commands.insert(command.dump());
    } catch (const Json::exception&) {
      found.skipped.push_back(fmt::format("{}: its name or an option is not UTF-8, which JSON is",
                                          source.file.filename().string()));
    }
  }
  return commands;
}

// The one of this folder may be that of a build.
fs::path output_of(const CompileCommandsWords& words) {
  if (words.output) return *words.output;
  fs::path usual = "compile_commands.json";
  std::error_code none;
  const auto text = fs::exists(usual, none) ? read_input(usual) : std::string();
  if (text.find("\"file\"") != std::string::npos && text.find(prelude_name) == std::string::npos) {
    refuse(ErrorCode::invalid_argument,
           fmt::format(
               "{} is here already, and kiln did not write it: name it, or another file, with -o",
               usual.string()));
  }
  return usual;
}

void check(const Globals& globals, const CompileCommandsWords& words) {
  if (!words.from.empty() && !words.manifest.empty())
    refuse(ErrorCode::invalid_argument, "name a cache or a manifest, not both");
  if (!words.arch.empty() && Target::parse(words.arch, ImageKind::ptx).value().is_native())
    refuse(ErrorCode::invalid_argument, "--arch native: name the architecture, e.g. sm_90a");
  if (words.output) check_standard_output(globals, *words.output);
}

Runtime open_runtime_without_cache(const Globals& globals) {
  auto options = runtime_options(globals);
  options.cache_disabled = true;
  return Runtime::open(std::move(options)).value();
}

std::vector<fs::path> toolkit_dirs_of(const Globals& globals, const Runtime& runtime) {
  auto folders = runtime.compiler().include_dirs;
  const bool complete = std::any_of(folders.begin(), folders.end(), [](const fs::path& folder) {
    std::error_code none;
    return fs::exists(folder / "crt/device_functions.h", none);
  });
  if (!complete && !globals.quiet) {
    say("kiln: warning: no headers of CUDA were found, so clangd will not know what they declare, "
        "threadIdx for one: install a toolkit, or nvidia-cuda-runtime and nvidia-cuda-crt\n");
  }
  return folders;
}

ExitCode tell(const Globals& globals, const fs::path& output, std::size_t commands,
              const fs::path& folder, const std::vector<std::string>& skipped) {
  warn_of_each(globals, skipped, "left out: ");
  if (globals.json) {
    print_json({{"file", absolute_path(output).string()},
                {"folder", folder.string()},
                {"commands", commands},
                {"skipped", skipped}});
  } else if (!globals.quiet) {
    const auto where = output == "-" ? "on standard output" : "in " + output.string();
    say("kiln: {} {}; what has no file of its own is in {}\n",
        counted(commands, "command", "commands"), where, folder.string());
  }
  return skipped.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace

ExitCode compile_commands(const Globals& globals, const CompileCommandsWords& words) {
  check(globals, words);
  const auto output = output_of(words);
  check_output_file(output, {words.manifest});
  std::optional<Cache> cache;
  if (words.manifest.empty())
    cache = words.from.empty() ? open_for_inspection(globals).value()
                               : open_shipped(words.from, settings_of(globals));
  auto runtime = open_runtime_without_cache(globals);
  Found found;
  SourcesFolder folder(words.sources, found);
  const Common common{words.arch, toolkit_dirs_of(globals, runtime), folder, found};
  if (cache) {
    add_cache(*cache, common);
  } else {
    add_manifest(runtime, words.manifest, common);
  }
  const auto commands = commands_of(found, folder.prelude());
  write_output(output, fmt::format("[\n{}\n]\n", fmt::join(commands, ",\n")));
  return tell(globals, output, commands.size(), folder.path(), found.skipped);
}

}  // namespace kiln::cli
