#include "verbs/clang_command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace kiln::cli {

namespace {

using Words = std::vector<std::string>;

// An option that takes a value: in the same word, after a sign of equality or in the next word.
struct WithValue {
  std::string_view name;
  std::string_view for_clang;
};
constexpr std::array with_value{WithValue{"--define-macro", "-D"},
                                WithValue{"-define-macro", "-D"},
                                WithValue{"--undefine-macro", "-U"},
                                WithValue{"-undefine-macro", "-U"},
                                WithValue{"--std", "-std="},
                                WithValue{"-std", "-std="},
                                WithValue{"-D", "-D"},
                                WithValue{"-U", "-U"}};

// What the prelude, or a source, is told of an option that clang has not.
struct Flag {
  std::string_view name;  // Without its dashes, of which there may be one or two.
  std::string_view for_clang;
};
constexpr std::array flags{Flag{"G", "-D__CUDACC_DEBUG__=1"},
                           Flag{"device-debug", "-D__CUDACC_DEBUG__=1"},
                           Flag{"use_fast_math", "-D__USE_FAST_MATH__=1"},
                           Flag{"default-device", "-D__KILN_DEFAULT_DEVICE__"},
                           Flag{"device-as-default-execution-space", "-D__KILN_DEFAULT_DEVICE__"},
                           Flag{"builtin-move-forward=false", "-D__KILN_NO_MOVE_FORWARD__"},
                           Flag{"builtin-initializer-list=false", "-D__KILN_NO_INITIALIZER_LIST__"},
                           Flag{"w", "-w"},
                           Flag{"disable-warnings", "-w"}};

std::string_view without_dashes(std::string_view option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

// clang 14 knows this version by its former name alone, and later ones know that too.
std::string value_for_clang(const WithValue& option, const std::string& value) {
  return option.for_clang == "-std=" && value == "c++23" ? "c++2b" : value;
}

// The value of this option where it stands at `word`, which goes on to the option's last word.
std::optional<std::string> value_of(const WithValue& option, Words::const_iterator& word,
                                    Words::const_iterator end) {
  if (*word == option.name) {
    if (std::next(word) == end) return std::nullopt;
    return *++word;
  }
  if (!word->starts_with(option.name)) return std::nullopt;
  const auto rest = word->substr(option.name.size());
  if (rest.front() == '=') return rest.substr(1);
  // Only those of one letter need none.
  return option.name == option.for_clang ? std::optional(rest) : std::nullopt;
}

std::optional<std::string> option_for_clang(Words::const_iterator& word,
                                            Words::const_iterator end) {
  for (const auto& option : with_value) {
    if (auto value = value_of(option, word, end))
      return fmt::format("{}{}", option.for_clang, value_for_clang(option, *value));
  }
  const auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& known) {
    return word->starts_with('-') && without_dashes(*word) == known.name;
  });
  return flag != flags.end() ? std::optional(std::string(flag->for_clang)) : std::nullopt;
}

Words options_for_clang(const Words& options) {
  Words result;
  for (auto word = options.begin(); word != options.end(); ++word) {
    if (auto option = option_for_clang(word, options.end())) result.push_back(std::move(*option));
  }
  const bool has_version = std::any_of(
      result.begin(), result.end(), [](const auto& option) { return option.starts_with("-std="); });
  // NVRTC's own; clang 14 would take an earlier one.
  if (!has_version) result.emplace_back("-std=c++17");
  return result;
}

// "sm_90a" is 90 and "a".
struct Architecture {
  unsigned number = 0;
  std::string_view suffix;

  explicit Architecture(std::string_view arch) {
    const auto digits = arch.substr(std::min(arch.find('_') + 1, arch.size()));
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    suffix = digits.substr(static_cast<std::size_t>(end - digits.data()));
  }
};

unsigned nearest_that_clang_knows(unsigned number) {
  constexpr std::array known{50U, 52U, 53U, 60U, 61U, 62U, 70U, 72U, 75U, 80U, 86U};
  const auto above = std::upper_bound(known.begin(), known.end(), number);
  return above == known.begin() ? known.front() : *std::prev(above);
}

Words architecture_for_clang(std::string_view arch) {
  const Architecture asked(arch);
  const auto version = asked.number * 10;
  Words words{fmt::format("--cuda-gpu-arch=sm_{}", nearest_that_clang_knows(asked.number)),
              "-U__CUDA_ARCH__", fmt::format("-D__CUDA_ARCH__={}", version),
              fmt::format("-D__CUDA_ARCH_LIST__={}", version)};
  if (asked.suffix == "a") {
    words.push_back(fmt::format("-D__CUDA_ARCH_FEAT_SM{}_ALL=1", asked.number));
    words.push_back(fmt::format("-D__CUDA_ARCH_SPECIFIC__={}", version));
  }
  if (!asked.suffix.empty())
    words.push_back(fmt::format("-D__CUDA_ARCH_FAMILY_SPECIFIC__={}", version));
  return words;
}

}  // namespace

std::vector<std::string> clang_command(const SourceForClang& source,
                                       const std::filesystem::path& prelude) {
  // As NVRTC, it sees no header of the host, and is no compiler that pretends to be GCC.
  Words command{"clang++",
                "-xcuda",
                "--cuda-device-only",
                "-fsyntax-only",
                "-nocudainc",
                "-nocudalib",
                "-nostdlibinc",
                "-fgnuc-version=0",
                "-Xclang",
                "-fcuda-allow-variadic-functions",
                "-Wno-unknown-cuda-version"};
  const auto add = [&](Words words) {
    command.insert(command.end(), std::move_iterator(words.begin()),
                   std::move_iterator(words.end()));
  };
  add(architecture_for_clang(source.arch));
  add(options_for_clang(source.options));
  add({"-include", prelude.string()});
  for (const auto& folder : source.include_dirs) add({"-I", folder.string()});
  for (const auto& folder : source.toolkit_dirs) add({"-isystem", folder.string()});
  add({"--", source.file.string()});
  return command;
}

}  // namespace kiln::cli
