#include "kiln/program.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace kiln {

struct Program::State {
  ProgramSpec spec;
  Digest source_digest;
  std::uint64_t id;
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

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool climbs_out(const std::filesystem::path& name) {
  return std::any_of(name.begin(), name.end(), [](const auto& part) { return part == ".."; });
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<void> check_name(const std::string& name) {
  const std::filesystem::path path(name);
  if (name.empty() || path.is_absolute() || climbs_out(path) || !path.has_filename() ||
      has_control_character(name)) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("program name '{}': use a relative file name without '..', such as rms_norm.cu",
                    name));
  }
  return {};
}

Result<void> check_options(const ProgramSpec& spec) {
  for (const auto& option : spec.options) {
    if (option.empty() || option.find('\0') != std::string::npos) {
      return fail(ErrorCode::invalid_option,
                  fmt::format("program '{}': an option is empty or holds a NUL byte", spec.name));
    }
    // NVRTC skips blanks before an option, and would take one that kiln does not recognise.
    if (is_blank(option.front()) || is_blank(option.back())) {
      return fail(
          ErrorCode::invalid_option,
          fmt::format("program '{}': option '{}' begins or ends with a blank", spec.name, option));
    }
    if (const auto* owned = owner_of(option)) {
      return fail(ErrorCode::invalid_option,
                  fmt::format("program '{}': option '{}' is not for a program to set: {}",
                              spec.name, option, owned->remedy));
    }
  }
  return {};
}

Result<void> check_kernels(const ProgramSpec& spec) {
  for (const auto& expression : spec.kernels) {
    if (expression.empty() || has_control_character(expression)) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format(
              "program '{}': the name expression '{}' is empty or holds a control character",
              spec.name, expression));
    }
  }
  return {};
}

Result<void> check(const ProgramSpec& spec) {
  if (auto named = check_name(spec.name); !named) return named;
  if (spec.source.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("program '{}': the source holds a NUL byte", spec.name));
  }
  if (auto optioned = check_options(spec); !optioned) return optioned;
  return check_kernels(spec);
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Program::Program(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

Result<Program> Program::make(ProgramSpec spec) {
  if (auto checked = check(spec); !checked) return tl::unexpected(checked.error());
  for (auto& directory : spec.include_dirs) {
    std::error_code failure;
    auto absolute = std::filesystem::absolute(directory, failure);
    if (directory.empty() || failure) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("program '{}': include directory '{}' is not a path", spec.name,
                              directory.string()));
    }
    directory = absolute.lexically_normal();
  }
  std::sort(spec.kernels.begin(), spec.kernels.end());
  spec.kernels.erase(std::unique(spec.kernels.begin(), spec.kernels.end()), spec.kernels.end());
  const auto digest = digest_of(spec.source);
  return Program(std::make_shared<const State>(State{std::move(spec), digest, next_id()}));
}

const std::string& Program::name() const noexcept { return state_->spec.name; }
const std::string& Program::source() const noexcept { return state_->spec.source; }
const Digest& Program::source_digest() const noexcept { return state_->source_digest; }
const std::vector<HeaderSet>& Program::headers() const noexcept { return state_->spec.headers; }
const std::vector<std::filesystem::path>& Program::include_dirs() const noexcept {
  return state_->spec.include_dirs;
}
const std::vector<std::string>& Program::kernels() const noexcept { return state_->spec.kernels; }
const std::vector<std::string>& Program::options() const noexcept { return state_->spec.options; }
bool Program::toolkit_headers() const noexcept { return state_->spec.toolkit_headers; }
std::uint64_t Program::id() const noexcept { return state_->id; }

}  // namespace kiln
