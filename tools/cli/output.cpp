#include "output.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/cache.h"
#include "log_colours.h"
#include "system/environment.h"
#include "table.h"

namespace kiln::cli {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct Warnings {
  std::mutex mutex;
  std::set<std::string, std::less<>> said;
  std::vector<std::string> kept;  ///< For the tool's end.
};

Warnings& warnings() {
  static Warnings all;
  return all;
}

// Why standard output could first not be written; 0 for nothing.
std::atomic<int> output_error{0};

void keep_output_error() {
  int none = 0;
  output_error.compare_exchange_strong(none, errno);
}

// What to do about a file, where the system's own words do not tell.
std::string_view remedy_for(int error, bool writing) {
  switch (error) {
    case ENOENT:
      return writing ? "; make its folder first" : "; check its name";
    case EISDIR:
      return "; name a file in it";
    case EACCES:
      return "; give yourself the right, or name another file";
    case ENOSPC:
      return "; make room, or name another place";
    default:
      return "";
  }
}

[[noreturn]] void io_failure(std::string_view what, const std::filesystem::path& path) {
  const int error = errno;
  refuse(ErrorCode::io_failed,
         fmt::format("{} {}: {}{}", what, path.empty() ? "''" : path.string(), std::strerror(error),
                     remedy_for(error, what == "cannot write")));
}

void print_whole(std::string_view log) {
  const auto text = wants_colour(stderr) ? with_colours(log) : std::string(log);
  say("{}{}", text, log.empty() || log.ends_with('\n') ? "" : "\n");
}

/// A device may never end.
constexpr std::size_t most_input_bytes = std::size_t{1} << 30;

std::string read_all(std::FILE* file, const std::filesystem::path& path) {
  std::string text;
  std::array<char, 16384> buffer;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), file)) {
    text.append(buffer.data(), count);
    if (text.size() > most_input_bytes)
      refuse(
          ErrorCode::invalid_argument,
          fmt::format("{} does not end within 1 GiB, more than any source, manifest or image has",
                      path.string()));
    // At a terminal the end is told once, and another read would wait for more.
    if (std::feof(file) != 0) break;
  }
  if (std::ferror(file) != 0) io_failure("cannot read", path);
  return text;
}

/// Writes and closes it; `path` is what errors name.
void write_whole(File file, const std::filesystem::path& path, std::string_view bytes) {
  if (file == nullptr) io_failure("cannot write", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (!written || std::fclose(file.release()) != 0) io_failure("cannot write", path);
}

/// A new file keeps the rights of the one that it replaces, and its group; where it cannot have that, its group may do nothing.
void take_rights_of(const std::filesystem::path& path, int file) {
  struct stat there;
  struct stat own;
  if (stat(path.c_str(), &there) != 0 || fstat(file, &own) != 0) return;
  const bool has_group =
      own.st_gid == there.st_gid || fchown(file, static_cast<uid_t>(-1), there.st_gid) == 0;
  constexpr mode_t rights = S_IRWXU | S_IRWXG | S_IRWXO;
  static_cast<void>(fchmod(file, there.st_mode & (has_group ? rights : rights & ~S_IRWXG)));
}

/// A file of the tool's own beside `path`: in a folder that others share, nobody can have put something there.
File make_temporary(const std::filesystem::path& path, mode_t mode,
                    std::filesystem::path& temporary) {
  std::random_device random;
  temporary = path;
  temporary += fmt::format(".{:08x}{:08x}.tmp", random(), random());
  const int descriptor =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (descriptor >= 0 && mode == usual_mode) take_rights_of(path, descriptor);
  return File(descriptor < 0 ? nullptr : fdopen(descriptor, "wb"));
}

// Where a link leads, also where nothing is there yet.
std::filesystem::path linked_file(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code no_link;
  for (int link = 0; link < most_links; ++link) {
    const auto target = std::filesystem::read_symlink(path, no_link);
    if (no_link) break;
    path = path.parent_path() / target;
  }
  return path;
}

// A cache that something else has taken the place of is lost, with all its entries.
void refuse_file_of_a_cache(const std::filesystem::path& path) {
  const auto name = linked_file(path).filename().string();
  const bool is_of_one =
      name.starts_with(cache_file_prefix) &&
      std::ranges::any_of(std::array{".db", "-journal", ".lock", ".flights", ".tally"},
                          [&](const char* ending) { return name.ends_with(ending); });
  if (!is_of_one) return;
  refuse(ErrorCode::invalid_argument,
         fmt::format("{}: that is a cache's own file; name another file", path.string()));
}

/// What lies there and would be lost, of what no verb makes with an output; empty for anything else.
std::string_view kept_in(const std::filesystem::path& path, bool may_be_source) {
  constexpr std::array source_endings{".cu",  ".cuh", ".hcu", ".h",   ".hh",  ".hpp", ".hxx",
                                      ".h++", ".c",   ".cc",  ".cpp", ".cxx", ".c++", ".cppm",
                                      ".inl", ".inc", ".ipp", ".tpp", ".def", ".in"};
  constexpr std::string_view database = "SQLite format 3";
  std::error_code not_there;
  const auto file = linked_file(path);
  if (!std::filesystem::is_regular_file(file, not_there)) return {};
  if (std::filesystem::file_size(file, not_there) == 0) return {};
  auto ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  if (!may_be_source && std::ranges::find(source_endings, ending) != source_endings.end())
    return "a source";
  if (ending == ".key" || ending == ".pub") return "a key";
  std::array<char, database.size()> first{};
  const File opened(std::fopen(file.c_str(), "rb"));
  const bool is_database = opened != nullptr &&
                           std::fread(first.data(), 1, first.size(), opened.get()) != 0 &&
                           std::string_view(first.data(), first.size()) == database;
  return is_database ? "a bundle or a cache" : "";
}

bool is_plain_file_or_absent(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  return std::filesystem::is_regular_file(status) || !std::filesystem::exists(status);
}

[[noreturn]] void refuse_terminal() {
  refuse(ErrorCode::invalid_argument,
         "what is asked for is binary and standard output is a terminal: name a file, or pipe it");
}

// A message that ends with a line of the log, without it: the log follows.
std::string_view without_last_words(std::string_view message, std::string_view log) {
  while (!log.empty()) {
    const auto line = log.substr(0, log.find('\n'));
    const auto before = message.substr(0, message.size() - std::min(message.size(), line.size()));
    if (!line.empty() && message.ends_with(line) && before.ends_with(": "))
      return before.substr(0, before.size() - 1);
    log.remove_prefix(std::min(log.size(), line.size() + 1));
  }
  return message;
}

std::string_view value_of(const char* variable) {
  const char* value = system::variable(variable);
  return value != nullptr ? value : "";
}

}  // namespace

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

std::size_t width_of(std::FILE* stream) {
  if (!is_terminal(stream)) return any_width;
  const char* told = system::variable("COLUMNS");
  const auto columns = told != nullptr ? std::strtoul(told, nullptr, 10) : 0;
  if (columns > 0) return columns;
  winsize size{};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : any_width;
}

bool is_drawable(std::FILE* stream) { return is_terminal(stream) && value_of("TERM") != "dumb"; }

bool wants_colour(std::FILE* stream) { return is_drawable(stream) && value_of("NO_COLOR").empty(); }

void put_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) keep_output_error();
}

void flush_text() {
  if (std::fflush(stdout) != 0) keep_output_error();
}

void refuse(ErrorCode code, std::string message) {
  throw Failure({code, std::move(message), {}, 0});
}

void warn_once(std::string_view what) {
  const std::lock_guard lock(warnings().mutex);
  if (warnings().said.emplace(what).second) say("kiln: warning: {}\n", what);
}

bool was_warned_of(std::string_view what) {
  const std::lock_guard lock(warnings().mutex);
  return warnings().said.contains(what);
}

void warn_unless_reported(std::string_view what) {
  const std::lock_guard lock(warnings().mutex);
  warnings().kept.emplace_back(what);
}

void say_kept_warnings() {
  for (const auto& warning : std::exchange(warnings().kept, {})) warn_once(warning);
}

void report(const Globals& globals, const Error& error) {
  {
    const std::lock_guard lock(warnings().mutex);
    std::erase(warnings().kept, error.message);
  }
  say("{} {}\n", bold("kiln: error:", wants_colour(stderr)),
      printable(without_last_words(error.message, error.log), "\n\t"));
  print_whole(error.log);
  if (globals.json) print_json(error_json(error));
}

void print_log(std::string_view title, std::string_view log) {
  say("{}\n", bold(title, wants_colour(stderr)));
  print_whole(log);
}

LogCallback log_to_standard_error() {
  return [](LogLevel level, std::string_view line) {
    if (level == LogLevel::warn) return warn_once(line);
    say("kiln: {}\n", printable(line, "\n\t"));
  };
}

std::string read_input(const std::filesystem::path& path) {
  if (path == "-") return read_all(stdin, "standard input");
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) io_failure("cannot read", path);
  return read_all(file.get(), path);
}

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code gone;
  auto absolute = std::filesystem::absolute(path, gone).lexically_normal();
  if (gone) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{}: the working directory is gone: name an absolute path", path.string()));
  }
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

void write_file(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  refuse_file_of_a_cache(path);
  if (!is_plain_file_or_absent(path)) {
    return write_whole(File(std::fopen(path.c_str(), "wb")), path, bytes);
  }
  std::filesystem::path temporary;
  auto file = make_temporary(path, mode, temporary);
  if (file == nullptr) io_failure("cannot write", path);
  try {
    write_whole(std::move(file), path, bytes);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) io_failure("cannot write", path);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
}

void check_standard_output(const Globals& globals, const std::filesystem::path& output) {
  if (output == "-" && globals.json) {
    refuse(ErrorCode::invalid_argument,
           "with --json, standard output has documents: name a file in the place of -");
  }
}

void refuse_to_overwrite(const std::filesystem::path& output,
                         const std::vector<std::filesystem::path>& inputs) {
  for (const auto& input : inputs) {
    std::error_code no_such_file;
    if (!std::filesystem::equivalent(output, input, no_such_file)) continue;
    refuse(ErrorCode::invalid_argument,
           fmt::format("-o {}: that is what is read; name another file", output.string()));
  }
}

void check_output_file(const std::filesystem::path& output,
                       const std::vector<std::filesystem::path>& inputs, bool may_be_source) {
  if (output == "-") return;
  refuse_to_overwrite(output, inputs);
  const auto kept = kept_in(output, may_be_source);
  if (kept.empty()) return;
  refuse(ErrorCode::invalid_argument,
         fmt::format("{}: that is {}; name another file", output.string(), kept));
}

void check_binary_output(const Globals& globals, const std::filesystem::path& output) {
  check_standard_output(globals, output);
  if (output == "-" && is_terminal(stdout)) refuse_terminal();
}

void write_output(const std::filesystem::path& path, std::string_view bytes) {
  if (path != "-") return write_file(path, bytes);
  if (is_terminal(stdout) && bytes.find('\0') != std::string_view::npos) refuse_terminal();
  put_text(bytes);
  flush_standard_output();
}

void copy_to_standard_output(std::istream& from) {
  std::array<char, 65536> buffer;
  while (from.read(buffer.data(), buffer.size()) || from.gcount() > 0) {
    const auto count = static_cast<std::size_t>(from.gcount());
    put_text({buffer.data(), count});
    if (output_error != 0) break;
  }
  flush_standard_output();
}

void warn_of_each(const Globals& globals, const std::vector<std::string>& lines,
                  std::string_view title) {
  constexpr std::size_t most_lines = 10;
  if (globals.quiet) return;
  for (std::size_t at = 0; at < std::min(lines.size(), most_lines); ++at)
    say("kiln: warning: {}{}\n", title, printable(lines[at]));
  if (lines.size() > most_lines)
    say("kiln: warning: and {} more; --json names them all\n", lines.size() - most_lines);
}

void flush_standard_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const int error = output_error.exchange(0);
  // What could not be written is told once: the end of the tool flushes again.
  __fpurge(stdout);
  std::clearerr(stdout);
  if (error != 0) errno = error;
  io_failure("cannot write", "standard output");
}

}  // namespace kiln::cli
