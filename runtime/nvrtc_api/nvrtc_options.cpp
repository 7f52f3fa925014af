#include "nvrtc_api/nvrtc_options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace kiln::nvrtc_api {

namespace {

// kiln does these its own way. Those that end in '=' have values.
constexpr std::array<std::string_view, 9> for_kiln_to_decide{
    "no-cache",     "pch",           "pch-dir=",
    "pch-verbose=", "pch-messages=", "create-pch=",
    "use-pch=",     "frandom-seed=", "instantiate-templates-in-pch="};

bool is_for_kiln_to_decide(std::string_view option) {
  const auto name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  return std::ranges::any_of(for_kiln_to_decide, [&](std::string_view own) {
    return own.ends_with('=') ? name.starts_with(own) : name == own;
  });
}

std::string trimmed(std::string_view word) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  const auto begin = word.find_first_not_of(blanks);
  if (begin == word.npos) return {};
  return std::string(word.substr(begin, word.find_last_not_of(blanks) + 1 - begin));
}

/// The words of a command line, one after the other.
class ArgumentWords {
 public:
  explicit ArgumentWords(std::vector<std::string> words) : words_(std::move(words)) {}

  [[nodiscard]] bool next() { return ++at_ < words_.size(); }
  [[nodiscard]] const std::string& word() const { return words_[at_]; }

  /// The value of this option, behind a '=' or in the next word, which is then done with. Empty where it has none.
  std::optional<std::string> value_of(std::string_view name) {
    if (word() == name) return next() ? word() : std::string();
    if (!word().starts_with(name) || word()[name.size()] != '=') return std::nullopt;
    return word().substr(name.size() + 1);
  }

  /// The value of `-I`, which may also follow at once, or behind a blank.
  std::optional<std::string> include_dir() {
    if (auto value = value_of("--include-path")) return value;
    if (auto value = value_of("-I")) return value;
    if (!word().starts_with("-I")) return std::nullopt;
    return trimmed(std::string_view(word()).substr(2));
  }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = static_cast<std::size_t>(-1);
};

bool read_value(ArgumentWords& words, Options& options) {
  for (const auto* name : {"--gpu-architecture", "-arch"}) {
    auto arch = words.value_of(name);
    if (!arch) continue;
    // A value that is missing is as bad as one that is none.
    options.arch = arch->empty() ? "(none)" : std::move(*arch);
    return true;
  }
  for (const auto* name : {"--pre-include", "-include"}) {
    const auto header = words.value_of(name);
    if (!header) continue;
    options.included += "#include \"" + *header + "\"\n";
    return true;
  }
  if (const auto directory = words.include_dir()) {
    if (!directory->empty()) options.include_dirs.emplace_back(*directory);
    return true;
  }
  return false;
}

bool read_flag(const std::string& word, Options& options) {
  const auto is = [&](std::string_view one, std::string_view other) {
    return word == one || word == other;
  };
  if (is("-dlto", "--dlink-time-opt")) {
    options.ltoir = true;
  } else if (is("-optix-ir", "--optix-ir")) {
    options.optixir = true;
  } else if (is("-no-source-include", "--no-source-include")) {
    options.beside_source = false;
  } else {
    return is_for_kiln_to_decide(word);
  }
  return true;
}

}  // namespace

std::optional<Options> read_options(std::span<const char* const> options) {
  std::vector<std::string> all;
  for (const auto* option : options) {
    if (option == nullptr) return std::nullopt;
    all.push_back(trimmed(option));
  }
  Options read;
  ArgumentWords words(std::move(all));
  while (words.next()) {
    if (read_value(words, read)) continue;
    if (!read_flag(words.word(), read)) read.to_compiler.push_back(words.word());
  }
  return read;
}

}  // namespace kiln::nvrtc_api
