#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "grammar/grammar_description.h"

namespace kiln::cli {

// What shells read to complete the tool's words.

[[nodiscard]] std::string bash_completion(const GrammarDescription& grammar);
[[nodiscard]] std::string zsh_completion(const GrammarDescription& grammar);
[[nodiscard]] std::string fish_completion(const GrammarDescription& grammar);

/// What a shell is told to fill a place with, in the order of Filling; "{}" stands for the choices.
using Fillings = std::array<std::string_view, 6>;
static_assert(static_cast<std::size_t>(Filling::choice) + 1 == std::tuple_size_v<Fillings>);

[[nodiscard]] std::string fill(const DescribedOption& option, const Fillings& fillings);

/// With a backslash before each of the `special` characters.
[[nodiscard]] std::string escaped(std::string_view text, std::string_view special);

/// For any shell: takes the keys of all entries from what `kiln ls --json` prints.
inline constexpr std::string_view read_keys = R"sh(sed -n 's/.*"key":"\([0-9a-f]*\)".*/\1/p')sh";

}  // namespace kiln::cli
