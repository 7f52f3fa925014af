#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "settings_text.h"
#include "system/nearest_name.h"
#include "verbs.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

void print(const Globals& globals, const std::vector<Setting>& settings) {
  if (globals.json) {
    for (const auto& setting : settings) print_json(setting_json(setting));
  } else {
    fmt::print("{}", settings_text(settings, wants_colour(stdout)));
  }
}

const Setting& find_setting(const Settings& settings, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& setting : settings.listing) {
    if (setting.variable == name) return setting;
    known.push_back(setting.variable);
  }
  const auto meant = system::nearest_name(name, known);
  refuse(ErrorCode::invalid_argument,
         fmt::format("'{}' is no setting; {}", name,
                     meant ? fmt::format("did you mean {}?", *meant) : "kiln config lists them"));
}

void print_one(const Globals& globals, const Setting& setting) {
  if (globals.json) return print_json(setting_json(setting));
  fmt::print("{}\n", setting.value);
}

// As if it stood in the environment: so a file never holds what no program takes.
void check_value(const Globals& globals, const std::string& name, const std::string& value) {
  if (value.find('\n') != std::string::npos)
    refuse(ErrorCode::invalid_argument, fmt::format("{}: a value is one line", name));
  setenv(name.c_str(), value.c_str(), 1);
  static_cast<void>(resolve_settings(asked_settings(globals)).value());
}

bool is_line_of(std::string_view line, std::string_view name) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  const auto sign = line.find_first_not_of(" \t");
  return sign != std::string_view::npos && line[sign] == '=';
}

// The text with this value in the place of all that it said of the setting; remarks stay.
std::string with_value(std::string_view text, const std::string& name,
                       const std::optional<std::string>& value) {
  std::string changed;
  bool said = !value;
  const auto say = [&] {
    if (!std::exchange(said, true)) changed += fmt::format("{}={}\n", name, *value);
  };
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (is_line_of(line, name)) {
      say();
    } else {
      changed.append(line).append("\n");
    }
  }
  say();
  return changed;
}

// The user's own, not that of all.
fs::path own_file() {
  const auto files = config_files();
  if (files.size() < 2) {
    refuse(ErrorCode::invalid_setting,
           "there is no place for your settings: neither XDG_CONFIG_HOME nor HOME is an absolute "
           "path");
  }
  return files.front();
}

void change(const Globals& globals, const std::string& name,
            const std::optional<std::string>& value) {
  const auto file = own_file();
  std::error_code absent;
  const auto text = fs::exists(file, absent) ? read_input(file) : std::string();
  fs::create_directories(file.parent_path(), absent);  // Where that fails, the writing tells.
  write_file(file, with_value(text, name, value), 0600);
  print_report(
      globals, {{"variable", name}, {"file", file.string()}},
      fmt::format("{} {} in {}\n", name, value ? "is set" : "is not set any more", file.string()));
}

}  // namespace

ExitCode config(const Globals& globals, const ConfigWords& words) {
  const auto settings = resolve_settings(asked_settings(globals)).value();
  if (words.action.empty()) {
    print(globals, settings.listing);
    return ExitCode::done;
  }
  if (words.name.empty())
    refuse(ErrorCode::invalid_argument, fmt::format("config {}: name a setting", words.action));
  const auto& setting = find_setting(settings, words.name);
  if (words.action == "set" && !words.value)
    refuse(ErrorCode::invalid_argument, fmt::format("config set {}: say to what", words.name));
  if (words.action != "set" && words.value) {
    refuse(ErrorCode::invalid_argument, fmt::format("config {} {}: '{}' is one word too many",
                                                    words.action, words.name, *words.value));
  }
  if (words.action == "get") {
    print_one(globals, setting);
  } else {
    if (words.value) check_value(globals, words.name, *words.value);
    change(globals, words.name, words.value);
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
