#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "settings_text.h"
#include "verbs.h"

namespace kiln::cli {

ExitCode print_settings(const Globals& globals) {
  const auto settings = resolve_settings({.cache_directory = globals.cache}).value();
  if (globals.json) {
    for (const auto& setting : settings.listing) print_json(setting_json(setting));
  } else {
    fmt::print("{}", settings_text(settings.listing, wants_colour(stdout)));
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
