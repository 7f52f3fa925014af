#include "kiln/program.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kiln/artifact.h"
#include "program/architecture.h"
#include "program/made_source.h"
#include "program/variants.h"

namespace kiln {

// One of a program's variants, or its default, as a program of its own.
struct Program::Alternative {
  std::string name;
  Program program;
  std::map<std::string, std::string> kernels;
  std::uint64_t pinned_id;  ///< The id of the handle that is this one for every target.
};

struct Program::State {
  ProgramSpec spec;
  Digest source_digest;
  std::uint64_t id;
  std::shared_ptr<MadeSource> made_source;  ///< Null where the spec has the source.
  std::vector<Architecture> since;          ///< Of the variants, in order.
  std::vector<Alternative>
      alternatives;  ///< The variants, then the default; none without variants.
};

namespace {

struct OwnedOption {
  std::string_view spelling;
  enum class Match { whole, prefix } match;
  std::string_view remedy;
};

using enum OwnedOption::Match;

constexpr std::string_view use_target =
    "give the architecture as a Target (--arch on the command line)";
constexpr std::string_view use_include_dirs =
    "use ProgramSpec::include_dirs (-I on the command line)";
constexpr std::string_view use_source = "put the #include into the source";
constexpr std::string_view use_kind =
    "ask for the image kind in the Target (--image on the command line)";
constexpr std::string_view kiln_decides = "kiln decides this itself";
constexpr std::string_view reads_files =
    "kiln does not let a program's options read files, which no key knows: give what they say";
constexpr std::string_view writes_files = "kiln does not let a program's options write files";

// Both dashes are stripped before comparing: NVRTC takes `-std` and `--std` alike.
constexpr std::array owned_options{
    OwnedOption{"gpu-architecture", prefix, use_target},
    OwnedOption{"arch", prefix, use_target},
    OwnedOption{"I", prefix, use_include_dirs},
    OwnedOption{"include-path", prefix, use_include_dirs},
    OwnedOption{"include", prefix, use_source},
    OwnedOption{"pre-include", prefix, use_source},
    OwnedOption{"dlto", whole, use_kind},
    OwnedOption{"dlink-time-opt", whole, use_kind},
    OwnedOption{"optix-ir", whole, use_kind},
    OwnedOption{"frandom-seed", prefix, kiln_decides},
    OwnedOption{"pch", prefix, kiln_decides},
    OwnedOption{"create-pch", prefix, kiln_decides},
    OwnedOption{"use-pch", prefix, kiln_decides},
    OwnedOption{"instantiate-templates-in-pch", prefix, kiln_decides},
    OwnedOption{"time", prefix, writes_files},
    OwnedOption{"fdevice-time-trace", prefix, writes_files},
    OwnedOption{"device-time-trace", prefix, writes_files},
    OwnedOption{"no-cache", whole, kiln_decides},
    OwnedOption{"no-source-include", whole, kiln_decides},
    OwnedOption{"kiln-", prefix, kiln_decides},
};

std::string_view without_dashes(std::string_view option) {
  if (option.starts_with("--")) return option.substr(2);
  if (option.starts_with("-")) return option.substr(1);
  return {};
}

const OwnedOption* owner_of(std::string_view option) {
  const auto name = without_dashes(option);
  for (const auto& owned : owned_options) {
    if (owned.match == whole ? name == owned.spelling : name.starts_with(owned.spelling))
      return &owned;
  }
  return nullptr;
}

// ptxas reads more options from a file, whatever spelling passes the file on.
bool names_options_file(std::string_view option) {
  const bool defines = option.starts_with("-D") || option.find("define-macro") != option.npos;
  return !defines && (option.find("options-file") != option.npos ||
                      option.find("-optf") != option.npos || option.starts_with('@'));
}

bool is_whitespace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool climbs_out(const std::filesystem::path& name) {
  return std::any_of(name.begin(), name.end(), [](const auto& part) { return part == ".."; });
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Outcome check_name(const std::string& name) {
  const std::filesystem::path path(name);
  if (has_control_character(name)) {
    return fail(
        ErrorCode::invalid_argument,
        "program name: it holds a control character, such as a tab or a line's end; name it "
        "without");
  }
  if (name.empty() || path.is_absolute() || climbs_out(path) || !path.has_filename()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("program name '{}': use a relative file name without '..', such as rms_norm.cu",
                    name));
  }
  return {};
}

Outcome check_options(const ProgramSpec& spec) {
  for (const auto& option : spec.options) {
    if (option.empty() || option.find('\0') != std::string::npos) {
      return fail(ErrorCode::invalid_option,
                  fmt::format("program '{}': an option is empty or holds a NUL byte: leave it out",
                              spec.name));
    }
    // NVRTC skips blanks before an option, so it would take an option that kiln does not recognise.
    if (is_whitespace(option.front()) || is_whitespace(option.back())) {
      return fail(
          ErrorCode::invalid_option,
          fmt::format("program '{}': option '{}' begins or ends with a blank", spec.name, option));
    }
    if (names_options_file(option)) {
      return fail(ErrorCode::invalid_option,
                  fmt::format("program '{}': option '{}' is not for a program to set: {}",
                              spec.name, option, reads_files));
    }
    if (const auto* owned = owner_of(option)) {
      return fail(ErrorCode::invalid_option,
                  fmt::format("program '{}': option '{}' is not for a program to set: {}",
                              spec.name, option, owned->remedy));
    }
  }
  return {};
}

Outcome check_kernels(const ProgramSpec& spec) {
  for (const auto& expression : spec.kernels) {
    if (expression.empty() || has_control_character(expression)) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format(
              "program '{}': the name expression '{}' is empty or holds a control character: write "
              "it as in the source, such as scale<float>",
              spec.name, expression));
    }
  }
  return {};
}

Outcome check(const ProgramSpec& spec) {
  if (auto named = check_name(spec.name); !named) return named;
  if (spec.source.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("program '{}': the source holds a NUL byte", spec.name));
  }
  if (spec.make_source && !spec.source.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("program '{}': give its source, or what makes it, not both", spec.name));
  }
  if (spec.make_source && spec.source_word.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("program '{}': a source that is made on demand needs a source_word, "
                            "which stands for it in the "
                            "key: a version, or a digest of what it is made from",
                            spec.name));
  }
  if (auto optioned = check_options(spec); !optioned) return optioned;
  return check_kernels(spec);
}

// A word stands for a source that may be made later: its digest must be that of no text, and no source has a NUL byte.
Digest source_digest_of(const ProgramSpec& spec) {
  return digest_of(spec.source_word.empty() ? spec.source : '\0' + spec.source_word);
}

// Two spellings of one expression may stand for two of the variant's own: which one is meant, nobody can tell.
Outcome canonicalise(const std::string& program, VariantSpec& variant) {
  decltype(variant.kernels) kernels;
  for (const auto& [expression, own] : variant.kernels) {
    const auto canonical = canonical_expression(own);
    const auto [at, added] = kernels.emplace(canonical_expression(expression), canonical);
    if (added || at->second == canonical) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("program '{}': variant '{}': '{}' stands for both '{}' and '{}': "
                            "leave one out",
                            program, variant.name, at->first, at->second, canonical));
  }
  variant.kernels = std::move(kernels);
  return {};
}

// Spaces do not matter: each expression has one spelling, in the key and wherever it is listed.
Outcome canonicalise(ProgramSpec& spec) {
  for (auto& expression : spec.kernels) expression = canonical_expression(expression);
  for (auto& variant : spec.variants) {
    if (auto sound = canonicalise(spec.name, variant); !sound) return sound;
  }
  return {};
}

constexpr std::string_view default_variant = "default";

// Checks what a variant adds. Its source, options and kernels are checked when it is made a program.
Outcome check_variant(const ProgramSpec& spec, const VariantSpec& variant) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("program '{}': variant '{}': {}", spec.name, variant.name, what));
  };
  if (variant.name.empty() || has_control_character(variant.name))
    return wrong("give it a name, such as hopper");
  if (variant.name == default_variant)
    return wrong("this name is taken: it means the program without its variants");
  for (const auto& [asked, own] : variant.kernels) {
    if (std::binary_search(spec.kernels.begin(), spec.kernels.end(), asked)) continue;
    return wrong(fmt::format("'{}' is not among the program's kernels: {}", asked,
                             fmt::join(spec.kernels, "; ")));
  }
  return {};
}

Outcome check_distinct(const ProgramSpec& spec, const std::vector<Architecture>& since) {
  const auto& variants = spec.variants;
  for (std::size_t one = 0; one < variants.size(); ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      const bool same_name = variants[one].name == variants[other].name;
      if (!same_name && since[one] != since[other]) continue;
      return fail(ErrorCode::invalid_argument,
                  same_name ? fmt::format("program '{}': two variants are named '{}'", spec.name,
                                          variants[one].name)
                            : fmt::format("program '{}': the variants '{}' and '{}' are both since "
                                          "{}: leave one out, or ask for it by name",
                                          spec.name, variants[other].name, variants[one].name,
                                          variants[one].since));
    }
  }
  return {};
}

ProgramSpec spec_of(const ProgramSpec& spec, const VariantSpec& variant) {
  auto own = spec;
  own.variants.clear();
  if (!variant.file.empty()) own.name = variant.file;
  if (variant.source) {
    own.source = *variant.source;
    own.source_word.clear();
    own.make_source = nullptr;
  }
  if (variant.options) own.options = *variant.options;
  for (auto& expression : own.kernels) {
    const auto mapped = variant.kernels.find(expression);
    if (mapped != variant.kernels.end()) expression = mapped->second;
  }
  return own;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Drops empty parts and ".", but keeps each "..": behind a link it leads elsewhere than the text says.
std::filesystem::path as_the_system_takes_it(const std::filesystem::path& directory) {
  std::filesystem::path plain;
  for (const auto& part : directory) {
    if (!part.empty() && part != ".") plain /= part;
  }
  return plain;
}

}  // namespace

Program::Program(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

Result<Program> Program::make(ProgramSpec spec) {
  auto made_source =
      spec.make_source ? std::make_shared<MadeSource>(spec.name, spec.make_source) : nullptr;
  return make(std::move(spec), std::move(made_source));
}

Result<Program> Program::make(ProgramSpec spec, std::shared_ptr<MadeSource> made_source) {
  if (auto sound = canonicalise(spec); !sound) return tl::unexpected(sound.error());
  if (auto checked = check(spec); !checked) return tl::unexpected(checked.error());
  for (auto& directory : spec.include_dirs) {
    std::error_code failure;
    auto absolute = std::filesystem::absolute(directory, failure);
    if (directory.empty() || failure) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("program '{}': include directory '{}'{}", spec.name, directory.string(),
                      directory.empty()
                          ? " is not a path: name a folder"
                          : ": the working directory is gone: name an absolute path"));
    }
    directory = as_the_system_takes_it(absolute);
  }
  std::sort(spec.kernels.begin(), spec.kernels.end());
  spec.kernels.erase(std::unique(spec.kernels.begin(), spec.kernels.end()), spec.kernels.end());
  const auto digest = source_digest_of(spec);
  const auto state = std::make_shared<State>(
      State{std::move(spec), digest, next_id(), std::move(made_source), {}, {}});
  if (auto added = add_alternatives(*state); !added) return tl::unexpected(added.error());
  return Program(state);
}

Result<Program::Alternative> Program::make_alternative(const ProgramSpec& spec,
                                                       const VariantSpec& variant) {
  auto program = make(spec_of(spec, variant));
  if (!program) {
    program.error().message =
        fmt::format("variant '{}': {}", variant.name, program.error().message);
    return tl::unexpected(std::move(program.error()));
  }
  return Alternative{variant.name, std::move(*program), variant.kernels, next_id()};
}

Outcome Program::add_alternatives(State& state) {
  const auto& spec = state.spec;
  if (spec.variants.empty()) return {};
  for (const auto& variant : spec.variants) {
    if (auto checked = check_variant(spec, variant); !checked) return checked;
    const auto since = read_since(variant.since);
    if (!since) {
      return fail(since.error().code, fmt::format("program '{}': variant '{}': {}", spec.name,
                                                  variant.name, since.error().message));
    }
    state.since.push_back(*since);
  }
  if (auto distinct = check_distinct(spec, state.since); !distinct) return distinct;
  auto all = spec.variants;
  all.push_back({.name = std::string(default_variant), .since = {}});
  for (const auto& variant : all) {
    auto made = make_alternative(spec, variant);
    if (!made) return tl::unexpected(std::move(made.error()));
    state.alternatives.push_back(std::move(*made));
  }
  return {};
}

std::string_view ProgramChoice::expression(std::string_view asked) const {
  if (kernels_ == nullptr) return asked;
  const auto canonical = canonical_expression(asked);
  const auto mapped = std::find_if(kernels_->begin(), kernels_->end(),
                                   [&](const auto& kernel) { return kernel.first == canonical; });
  return mapped != kernels_->end() ? std::string_view(mapped->second) : asked;
}

Result<Program> Program::with_kernels(std::vector<std::string> kernels) const {
  auto spec = state_->spec;
  spec.kernels = std::move(kernels);
  for (auto& expression : spec.kernels) expression = canonical_expression(expression);
  for (auto& variant : spec.variants) {
    std::erase_if(variant.kernels, [&](const auto& kernel) {
      return std::find(spec.kernels.begin(), spec.kernels.end(), kernel.first) ==
             spec.kernels.end();
    });
  }
  auto program = make(std::move(spec), state_->made_source);
  if (!program || pinned_ == nullptr) return program;
  return program->with_variant(pinned_->name);
}

Result<Program> Program::with_variant(std::string_view name) const {
  const auto& all = state_->alternatives;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const auto& alternative) { return alternative.name == name; });
  if (found == all.end() && (!all.empty() || name != default_variant)) {
    std::vector<std::string_view> names;
    for (const auto& variant : variants()) names.push_back(variant.name);
    names.push_back(default_variant);
    return fail(ErrorCode::invalid_argument,
                fmt::format("program '{}' has no variant '{}'; there are: {}", this->name(), name,
                            fmt::join(names, ", ")));
  }
  Program pinned = *this;
  if (found != all.end()) pinned.pinned_ = &*found;
  return pinned;
}

ProgramChoice Program::for_target(const Target& target, std::string_view preferred) const noexcept {
  const auto& all = state_->alternatives;
  if (all.empty()) return {default_variant, *this, nullptr};
  const auto choice_of = [](const Alternative& chosen) {
    return ProgramChoice(chosen.name, chosen.program, &chosen.kernels);
  };
  if (pinned_ != nullptr) return choice_of(*pinned_);
  for (const auto& alternative : all) {
    if (!preferred.empty() && alternative.name == preferred) return choice_of(alternative);
  }
  const auto architecture = read_architecture(target.arch());
  const auto chosen = architecture ? choose_variant(state_->since, *architecture) : std::nullopt;
  return choice_of(all[chosen.value_or(all.size() - 1)]);
}

const std::string& Program::name() const noexcept { return state_->spec.name; }
const std::string& Program::source() const {
  return state_->made_source ? state_->made_source->text() : state_->spec.source;
}
const Digest& Program::source_digest() const noexcept { return state_->source_digest; }
const std::string& Program::source_word() const noexcept { return state_->spec.source_word; }
const std::string& Program::engine() const noexcept { return state_->spec.engine; }
bool Program::has_source() const noexcept {
  return !state_->made_source || state_->made_source->is_made();
}
Outcome Program::ensure_source() const {
  return state_->made_source ? state_->made_source->outcome() : Outcome();
}
const std::vector<HeaderSet>& Program::headers() const noexcept { return state_->spec.headers; }
const std::vector<std::filesystem::path>& Program::include_dirs() const noexcept {
  return state_->spec.include_dirs;
}
const std::vector<std::string>& Program::kernels() const noexcept { return state_->spec.kernels; }
const std::vector<std::string>& Program::options() const noexcept { return state_->spec.options; }
bool Program::toolkit_headers() const noexcept { return state_->spec.toolkit_headers; }
bool Program::extends() const noexcept { return state_->spec.extends; }
bool Program::keep() const noexcept { return state_->spec.keep; }
const std::vector<VariantSpec>& Program::variants() const noexcept { return state_->spec.variants; }
std::uint64_t Program::id() const noexcept {
  return pinned_ != nullptr ? pinned_->pinned_id : state_->id;
}

}  // namespace kiln
