#include "base/contained_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "system/file_size_signal.h"
#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln {

namespace {

namespace fs = std::filesystem;

// What a folder holds that is kiln's own.
constexpr const char* mark = ".kiln-sources";

tl::unexpected<Error> cannot_write(const fs::path& file, std::string_view why) {
  return fail(ErrorCode::io_failed, fmt::format("cannot write {}: {}", file.string(), why));
}

tl::unexpected<Error> cannot_write(const fs::path& file) {
  return cannot_write(file, std::strerror(errno));
}

system::Descriptor open_at(int folder, const char* name, int flags, mode_t mode = 0) {
  return system::Descriptor(
      system::above_standard_streams(::openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode)));
}

// Whether anything but the mark is in it.
bool holds_anything(int folder) {
  const int own =
      system::above_standard_streams(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* listing = own < 0 ? nullptr : ::fdopendir(own);
  if (listing == nullptr) return true;
  bool found = false;
  for (const dirent* item; !found && (item = ::readdir(listing)) != nullptr;) {
    const std::string_view name = item->d_name;
    found = name != "." && name != ".." && name != mark;
  }
  ::closedir(listing);
  return found;
}

bool is_marked(int folder) {
  struct stat status;
  return ::fstatat(folder, mark, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

// The parts of a name; nothing where they do not lead to a file below.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  for (const auto& part : fs::path(name)) {
    if (part == "..") return {};
    if (!part.empty() && part != "." && part != "/") parts.push_back(part.string());
  }
  return parts;
}

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

// Of a name that nobody shall see as it is: a terminal would obey it.
std::string without_controls(std::string_view name) {
  std::string text(name);
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

bool set_time(int file, std::int64_t modified_ns) {
  if (modified_ns == 0) return true;
  constexpr std::int64_t second = 1'000'000'000;
  const timespec time{modified_ns / second, modified_ns % second};
  const std::array<timespec, 2> times{time, time};
  return ::futimens(file, times.data()) == 0;
}

std::string temporary_name() {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}.tmp", mark, random(), random());
}

bool fill(int folder, const std::string& temporary, std::string_view text,
          std::int64_t modified_ns) {
  const auto file = open_at(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  return file && system::write_whole(file.get(), text) && set_time(file.get(), modified_ns);
}

bool replace(int folder, const std::string& name, std::string_view text, std::int64_t modified_ns) {
  const auto temporary = temporary_name();
  if (fill(folder, temporary, text, modified_ns) &&
      ::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) {
    return true;
  }
  const int error = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  errno = error;
  return false;
}

}  // namespace

ContainedFolder::ContainedFolder(fs::path path, system::Descriptor folder) noexcept
    : path_(std::move(path)), folder_(std::move(folder)) {}

Result<ContainedFolder> ContainedFolder::make(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  system::Descriptor opened(system::open_file(folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (!opened) return cannot_write(folder, failure ? failure.message() : std::strerror(errno));
  // Who writes here marks it first, so that what another process has written already is marked.
  if (holds_anything(opened.get()) && !is_marked(opened.get())) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} holds other things: name a folder that is new, empty, or laid out "
                            "by kiln",
                            folder.string()));
  }
  if (!is_marked(opened.get()) && !open_at(opened.get(), mark, O_WRONLY | O_CREAT, 0666)) {
    return cannot_write(folder / mark);
  }
  return ContainedFolder(folder, std::move(opened));
}

Outcome ContainedFolder::write(std::string_view name, std::string_view text,
                               std::int64_t modified_ns) const {
  const auto parts = parts_of(name);
  if (parts.empty() || std::any_of(name.begin(), name.end(), is_control)) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is no name of a file below {}",
                                                         without_controls(name), path_.string()));
  }
  const system::FileSizeSignalHeld held;
  auto file = path_;
  system::Descriptor on_the_way;
  for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
    const int folder = on_the_way ? on_the_way.get() : folder_.get();
    file /= parts[at];
    if (::mkdirat(folder, parts[at].c_str(), 0777) != 0 && errno != EEXIST)
      return cannot_write(file);
    auto next = open_at(folder, parts[at].c_str(), O_RDONLY | O_DIRECTORY);
    if (!next) return cannot_write(file);
    on_the_way = std::move(next);
  }
  const int folder = on_the_way ? on_the_way.get() : folder_.get();
  if (!replace(folder, parts.back(), text, modified_ns)) return cannot_write(file / parts.back());
  return {};
}

}  // namespace kiln
