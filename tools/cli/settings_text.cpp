#include "settings_text.h"

#include "table.h"

namespace kiln::cli {

std::string settings_text(const std::vector<Setting>& settings, bool colour) {
  Table table({{"SETTING"}, {"VALUE"}, {"FROM"}});
  for (const auto& setting : settings) {
    table.add({setting.variable, or_dash(setting.value), setting.origin});
  }
  return table.text(colour);
}

}  // namespace kiln::cli
