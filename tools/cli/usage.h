#pragma once

#include <string>
#include <vector>

#include "grammar/grammar_description.h"

namespace kiln::cli {

/// A command line that does not parse.
struct UnreadWords {
  std::vector<std::string> words;       ///< All of them, without the tool's own name.
  std::vector<std::string> unexpected;  ///< Those that the parser knows nothing of.
  std::string parsers_words;            ///< Its own message.
};

/// What is wrong with it, and what was probably meant, in a sentence.
[[nodiscard]] std::string what_is_wrong(const GrammarDescription& grammar,
                                        const UnreadWords& unread);

}  // namespace kiln::cli
