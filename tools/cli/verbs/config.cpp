#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
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
    put_text(settings_text(settings, wants_colour(stdout), width_of(stdout)));
  }
}

Settings settings_to_tell(const Globals& globals) {
  auto settings = resolve_settings(asked_settings(globals)).value();
  warn_of_unread(globals, settings);
  return settings;
}

Setting find_setting(const Settings& settings, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& setting : settings.listing) {
    if (setting.variable == name) return setting;
    known.push_back(setting.variable);
  }
  const auto meant = system::nearest_name_behind("KILN_", name, known);
  refuse(ErrorCode::invalid_argument,
         fmt::format("'{}' is no setting; {}", name,
                     meant ? fmt::format("did you mean {}?", *meant) : "kiln config lists them"));
}

void print_one(const Globals& globals, const Setting& setting) {
  if (globals.json) return print_json(setting_json(setting));
  put("{}\n", setting.value);
}

// As if it stood in the environment, and with no option before it: so a file never holds what no program takes.
void check_value(const std::string& name, const std::string& value) {
  constexpr std::size_t longest = 4096;
  const auto wrong = [&](std::string_view what) {
    refuse(ErrorCode::invalid_argument, fmt::format("{}: {}", name, what));
  };
  if (value.empty()) wrong("a value that is empty says nothing; kiln config unset takes it away");
  if (value.size() > longest) wrong("a value has 4,096 characters at most");
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    wrong("a value is one line, without control characters");
  if (value.front() == ' ' || value.back() == ' ')
    wrong("a value neither begins nor ends with a space: in the file it would be lost");
  setenv(name.c_str(), value.c_str(), 1);
  static_cast<void>(resolve_settings({}).value());
}

bool is_line_of(std::string_view line, std::string_view name) {
  constexpr std::string_view blanks = " \t\r";
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(blanks)));
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  const auto sign = line.find_first_not_of(blanks);
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

/// Of several that change it at one time, one after the other: each reads what the one before it wrote.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  const int descriptor_;
};

void change(const Globals& globals, const std::string& name,
            const std::optional<std::string>& value) {
  const auto file = own_file();
  const auto folder = file.parent_path();
  std::error_code told_by_the_writing;
  fs::create_directories(folder.parent_path(), told_by_the_writing);
  if (value && mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse(ErrorCode::io_failed,
           fmt::format("cannot make the folder {}: {}; XDG_CONFIG_HOME names another place",
                       folder.string(), std::strerror(errno)));
  }
  if (value && fs::is_symlink(fs::symlink_status(file, told_by_the_writing))) {
    refuse(ErrorCode::invalid_setting,
           fmt::format("settings file '{}' is a symbolic link, which no program follows: put the "
                       "file itself there",
                       file.string()));
  }
  const FolderLock one_at_a_time(folder);
  const bool there = fs::exists(file, told_by_the_writing);
  if (there && !fs::is_regular_file(file, told_by_the_writing)) {
    refuse(ErrorCode::invalid_setting,
           fmt::format("settings file '{}' is not a regular file: remove it", file.string()));
  }
  const auto before = there ? read_input(file) : std::string();
  const auto after = with_value(before, name, value);
  if (there || value) write_file(file, after, 0600);
  const auto* const done = value ? "is set" : after == before ? "was not set" : "is no longer set";
  print_report(globals, {{"variable", name}, {"file", file.string()}},
               fmt::format("{} {} in {}\n", name, done, file.string()));
}

// As in the file, a setting and its value may be one word.
ConfigWords parted(ConfigWords words) {
  const auto equals = words.name.find('=');
  if (words.action != "set" || words.value || equals == std::string::npos) return words;
  words.value = words.name.substr(equals + 1);
  words.name.resize(equals);
  return words;
}

}  // namespace

ExitCode config(const Globals& globals, const ConfigWords& given) {
  const auto words = parted(given);
  if (words.action.empty()) {
    print(globals, settings_to_tell(globals).listing);
    return ExitCode::done;
  }
  if (words.name.empty())
    refuse(ErrorCode::invalid_argument, fmt::format("config {}: name a setting", words.action));
  if (words.action == "set" && !words.value)
    refuse(ErrorCode::invalid_argument, fmt::format("config set {}: say to what", words.name));
  if (words.action != "set" && words.value) {
    refuse(ErrorCode::invalid_argument, fmt::format("config {} {}: '{}' is one word too many",
                                                    words.action, words.name, *words.value));
  }
  if (words.action == "get") {
    print_one(globals, find_setting(settings_to_tell(globals), words.name));
  } else if (words.action == "unset") {
    // Of any name, and whatever else the file says: this is how a file is mended.
    change(globals, words.name, std::nullopt);
  } else {
    static_cast<void>(find_setting(resolve_settings({}).value(), words.name));
    check_value(words.name, *words.value);
    change(globals, words.name, words.value);
    // What else is wrong with the file is told to who changes it.
    static_cast<void>(resolve_settings(asked_settings(globals)).value());
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
