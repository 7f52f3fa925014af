#pragma once

#include <string>
#include <string_view>

#include "grammar_description.h"

namespace kiln::cli {

// What shells read to complete the tool's words.

[[nodiscard]] std::string bash_completion(const GrammarDescription& grammar);
[[nodiscard]] std::string zsh_completion(const GrammarDescription& grammar);
[[nodiscard]] std::string fish_completion(const GrammarDescription& grammar);

/// For any shell: prints the keys of all entries.
inline constexpr std::string_view print_keys =
    R"sh(kiln ls --json 2>/dev/null | sed -n 's/.*"key":"\([0-9a-f]*\)".*/\1/p')sh";

}  // namespace kiln::cli
