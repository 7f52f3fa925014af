#include "grammar/verb_grammar.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace kiln::cli {

// The compiler reads -D and --option in the order in which they stand.
void complete(const CLI::App& verb, ProgramWords* words) {
  const auto* defines = verb.get_option("-D");
  const auto* others = verb.get_option("--option");
  auto define = defines->results().begin();
  auto other = others->results().begin();
  for (const auto* option : verb.parse_order()) {
    if (option == defines) words->options.push_back("-D" + *define++);
    if (option == others) words->options.push_back(*other++);
  }
}

CLI::Option* one_each(CLI::Option* option, const char* type) {
  return option->allow_extra_args(false)->type_name(type);
}

CLI::Option* required_operand(CLI::Option* option) { return option->required()->type_name(""); }

void add_targets_instead(CLI::App& verb, std::vector<std::string>& archs, std::string& image) {
  one_each(verb.add_option("--arch", archs,
                           "Architectures in the place of those written down: sm_90a, "
                           "compute_90, ..."),
           "A[,B...]")
      ->delimiter(',');
  verb.add_option("--image", image, "Image kind in the place of the one written down")
      ->type_name("KIND");
}

void add_newest(CLI::App& verb, bool& newest) {
  verb.add_flag("--newest", newest, "Of several entries that fit, the one that was made last");
}

void add_other_store(CLI::App& verb, std::optional<std::string>& store, const char* what) {
  verb.add_option_function<std::string>(
          "--store", [&store](const std::string& url) { store = url; },
          fmt::format("{}; without a URL, of the first one that KILN_REMOTE names", what))
      ->expected(0, 1)
      ->default_str(first_remote)
      ->type_name("URL");
}

}  // namespace kiln::cli
