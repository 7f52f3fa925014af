#include "settings/decisions.h"

#include <algorithm>

#include <fmt/format.h>

#include "system/environment.h"
#include "system/nearest_name.h"

namespace kiln::settings {

std::optional<Given> Decisions::given(const char* variable) const {
  const char* value = system::variable(variable);
  if (value != nullptr && *value != '\0') return Given{value, "environment"};
  for (const auto& file : files_) {
    const auto found = file.values.find(variable);
    if (found != file.values.end() && !found->second.empty())
      return Given{found->second, file.path.string()};
  }
  return std::nullopt;
}

std::optional<std::string> Decisions::said_empty_in(const char* variable) const {
  if (const char* value = system::variable(variable))
    return *value == '\0' ? std::optional<std::string>("environment") : std::nullopt;
  for (const auto& file : files_) {
    const auto found = file.values.find(variable);
    if (found != file.values.end())
      return found->second.empty() ? std::optional(file.path.string()) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::string> Decisions::unread() const {
  std::vector<std::string> unread;
  for (const auto& file : files_) {
    if (!file.unread.empty()) unread.push_back(file.unread);
  }
  return unread;
}

std::vector<UnknownVariable> Decisions::unknown() const {
  std::vector<std::string> known;
  for (const auto& setting : listing_) known.push_back(setting.variable);
  std::vector<UnknownVariable> unknown;
  const auto look_at = [&](const std::string& name, const std::string& file) {
    if (std::ranges::find(known, name) != known.end()) return;
    unknown.push_back({name, system::nearest_name_behind("KILN_", name, known).value_or(""), file});
  };
  for (const auto& name : system::variables_beginning_with("KILN_")) look_at(name, "");
  for (const auto& file : files_) {
    for (const auto& [name, value] : file.values) look_at(name, file.path.string());
  }
  return unknown;
}

void Decisions::refuse(const char* variable, Error error) {
  if (fault_) return;
  const auto listed = std::find_if(listing_.rbegin(), listing_.rend(),
                                   [&](const Setting& each) { return each.variable == variable; });
  const auto& origin = listed->origin;
  // Everybody looks first where these are.
  if (origin != "environment" && origin != "option" && origin != "default")
    error.message += fmt::format(" (in {})", origin);
  fault_ = std::move(error);
}

}  // namespace kiln::settings
