#include "source/host_branches.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

/// A conditional, as far as it tells the host from NVRTC.
struct Conditional {
  bool for_host = false;       ///< The branch that is read is.
  bool then_for_host = false;  ///< All that follow are.
};

std::string without_blanks(std::string_view text) {
  std::string rest;
  std::ranges::copy_if(text, std::back_inserter(rest), [](char c) { return !is_space(c); });
  return rest;
}

Conditional conditional_of(std::string_view directive, std::string_view condition) {
  const auto asked = without_blanks(condition);
  if (directive == "ifndef") return {asked == defined_by_nvrtc, false};
  if (directive == "ifdef") return {false, asked == defined_by_nvrtc};
  const auto is_defined = "defined(" + std::string(defined_by_nvrtc) + ")";
  const bool first_is_not =
      asked.starts_with("!" + is_defined) && !holds_rare(asked, "||") && !holds_rare(asked, "?");
  const auto rest = std::string_view(asked).substr(std::min(asked.size(), is_defined.size() + 1));
  return {first_is_not && (rest.empty() || rest.starts_with("&&")), asked == is_defined};
}

class HostBranches {
 public:
  /// Whether the line is left out.
  bool leaves_out(std::string_view line) {
    Scanner scanner(line);
    scanner.skip_blanks();
    if (!scanner.skip_hash()) return in_host_branch();
    scanner.skip_blanks();
    const auto directive = scanner.identifier();
    const bool was_out = in_host_branch();
    follow(directive, scanner.rest());
    return was_out || in_host_branch();
  }

 private:
  [[nodiscard]] bool in_host_branch() const {
    return std::ranges::any_of(open_, [](const Conditional& each) { return each.for_host; });
  }

  void follow(std::string_view directive, std::string_view condition) {
    if (directive == "if" || directive == "ifdef" || directive == "ifndef") {
      open_.push_back(conditional_of(directive, condition));
    } else if (directive.starts_with("el") && !open_.empty()) {
      open_.back().for_host = open_.back().then_for_host;
    } else if (directive == "endif" && !open_.empty()) {
      open_.pop_back();
    }
  }

  std::vector<Conditional> open_;
};

}  // namespace

std::string without_host_branches(std::string_view code) {
  std::string left;
  left.reserve(code.size());
  HostBranches branches;
  for (std::size_t begin = 0; begin < code.size();) {
    const auto end = std::min(code.find('\n', begin), code.size());
    const auto line = code.substr(begin, end - begin);
    if (!branches.leaves_out(line)) left += line;
    if (end < code.size()) left += '\n';
    begin = end + 1;
  }
  return left;
}

}  // namespace kiln
