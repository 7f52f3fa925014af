#pragma once

#include <string>
#include <vector>

namespace kiln::cli {

// The words of the command line as values: what the manual and the completions are made of.

/// What a value or an operand may be.
enum class Filling {
  anything,
  file,
  folder,
  entry,          ///< The key of an entry of the cache.
  entry_or_file,  ///< Either of the two.
  choice,         ///< One of DescribedOption::choices.
};

/// An option or an operand.
struct DescribedOption {
  std::vector<std::string> names;  ///< With their dashes; empty for an operand.
  std::string value;  ///< What its value, or the operand, is called; empty where it takes none.
  std::string what;
  std::string default_value = {};
  bool required = false;
  bool repeatable = false;
  Filling filling = Filling::anything;
  std::vector<std::string> choices = {};
};

struct DescribedVerb {
  std::string name;
  std::string what;
  std::string remark;  ///< What else is to be said; may be empty.
  std::vector<DescribedOption> options;
  std::vector<DescribedOption> operands;
};

/// The whole grammar. The tool's own options may stand before and after any verb.
struct GrammarDescription {
  std::string about;
  std::vector<DescribedOption> options;
  std::vector<DescribedVerb> verbs;
};

[[nodiscard]] GrammarDescription describe_command_line();

}  // namespace kiln::cli
