#include "settings/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "system/descriptor.h"
#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln {

namespace {

tl::unexpected<Error> unusable(const std::filesystem::path& path, std::string_view problem) {
  return fail(ErrorCode::invalid_setting,
              fmt::format("settings file '{}' {}", path.string(), problem));
}

tl::unexpected<Error> unreadable(const std::filesystem::path& path, int error) {
  // A symbolic link, which is not followed.
  if (error == ELOOP) return unusable(path, "is a symbolic link: put the file itself there");
  return unusable(path, "cannot be read: " + std::generic_category().message(error));
}

std::string may_not_read(const std::filesystem::path& path) {
  return fmt::format(
      "settings file '{}' is left out, for you may not read it: give yourself the right to, or "
      "set XDG_CONFIG_HOME or HOME to a folder of your own",
      path.string());
}

// Asked of the open file: nothing can take its place any more.
Outcome check_private(const std::filesystem::path& path, int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) return unusable(path, "is not a regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return unusable(path,
                    fmt::format("belongs to user {}: it must be yours, or root's", status.st_uid));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return unusable(path, fmt::format("can be written by others (mode {:o}): chmod go-w it",
                                      status.st_mode & 07777));
  }
  return {};
}

Result<std::string> read_text(const std::filesystem::path& path, int descriptor) {
  constexpr std::size_t most = 65'536;
  auto text = system::read_whole(descriptor, most);
  if (!text) return unreadable(path, errno);
  if (text->size() > most) return unusable(path, "is larger than 64 KiB");
  return std::move(*text);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool may_hold_address(std::string_view text) {
  return text.find("://") != text.npos || text.find('@') != text.npos;
}

// What stands behind the first word may be a secret. Of an address, which may have one, the first word may be a piece.
std::string without_value(std::string_view line) {
  const auto name = line.substr(0, line.find_first_of("= \t:"));
  const bool is_name = line.starts_with("KILN_") || line.substr(name.size()).starts_with('=');
  if (may_hold_address(is_name ? name : line)) return "...";
  // Alone on its line it may be one too; a word of letters is none.
  const auto is_of_a_word = [](unsigned char c) {
    return std::isalpha(c) || c == '_' || c == '[' || c == ']';
  };
  if (name.size() == line.size() && !std::ranges::all_of(line, is_of_a_word)) return "...";
  return fmt::format("{}{}", name, name.size() == line.size() ? "" : "...");
}

}  // namespace

Result<ConfigFile> parse_config(const std::filesystem::path& path, std::string_view text) {
  ConfigFile file{.path = path, .values = {}};
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    const auto sign = line.find('=');
    if (!line.starts_with("KILN_") || sign == std::string_view::npos) {
      return fail(ErrorCode::invalid_setting,
                  fmt::format("{}:{}: '{}' is no setting: write a line as KILN_MODE=warn",
                              path.string(), number, without_value(line)));
    }
    file.values[std::string(trimmed(line.substr(0, sign)))] = trimmed(line.substr(sign + 1));
  }
  return file;
}

Result<std::optional<ConfigFile>> read_config(const std::filesystem::path& path) {
  // O_NONBLOCK: a FIFO in its place would wait for a writer.
  const system::Descriptor descriptor(
      system::open_file(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (descriptor.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    // As of root's own HOME, which `su` hands on: a program must not end for that.
    if (errno == EACCES)
      return ConfigFile{.path = path, .values = {}, .unread = may_not_read(path)};
    return unreadable(path, errno);
  }
  if (auto sound = check_private(path, descriptor.get()); !sound)
    return tl::unexpected(sound.error());
  const auto text = read_text(path, descriptor.get());
  if (!text) return tl::unexpected(text.error());
  auto file = parse_config(path, *text);
  if (!file) return tl::unexpected(file.error());
  return std::optional(std::move(*file));
}

}  // namespace kiln
