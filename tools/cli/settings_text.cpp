#include "settings_text.h"

#include "table.h"

namespace kiln::cli {

std::string settings_text(const std::vector<Setting>& settings, bool colour, std::size_t width) {
  Table table({{"SETTING"}, {"VALUE"}, {"FROM", Align::left, 1}});
  for (const auto& setting : settings) {
    table.add({setting.variable, or_dash(setting.value), setting.origin});
  }
  return table.text(colour, width);
}

}  // namespace kiln::cli
