#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/error.h"
#include "kiln/observer.h"
#include "verbs.h"

namespace kiln::cli {

[[nodiscard]] bool is_terminal(std::FILE* stream);

/// How many columns a terminal has, by COLUMNS where that is set; any_width for anything else.
[[nodiscard]] std::size_t width_of(std::FILE* stream);

/// Whether lines can be drawn over: on a terminal that is not dumb.
[[nodiscard]] bool is_drawable(std::FILE* stream);

/// On a terminal that is not dumb, unless NO_COLOR is set to anything.
[[nodiscard]] bool wants_colour(std::FILE* stream);

/// What verbs throw where they cannot go on: what Result::value() throws.
using Failure = tl::bad_expected_access<Error>;

[[noreturn]] void refuse(ErrorCode code, std::string message);

/// What an option's value came to. Its error is a Failure that names the option too.
template <class Value>
[[nodiscard]] Value value_of(std::string_view option, tl::expected<Value, Error> result) {
  if (result) return std::move(*result);
  auto error = std::move(result.error());
  error.message = fmt::format("{}: {}", option, error.message);
  throw Failure(std::move(error));
}

/// Prints on standard error; where that is closed or cannot be written, the exit status alone has to tell.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  const auto text = fmt::format(format, std::forward<Values>(values)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Prints on standard output. What cannot be written is told by flush_standard_output(), at the tool's end at the latest.
void put_text(std::string_view text);
/// Hands on what was printed so far.
void flush_text();
template <class... Values>
void put(fmt::format_string<Values...> format, Values&&... values) {
  put_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Warns on standard error, of each thing once: settings are decided by the tool and by its runtime. From any thread.
void warn_once(std::string_view what);
/// Whether a warning with these words has been said.
[[nodiscard]] bool was_warned_of(std::string_view what);

/// Keeps a warning for the tool's end, and drops it where an error says the same: a cache tells a fault, and then fails with
/// it. From any thread.
void warn_unless_reported(std::string_view what);
/// Warns of what was kept. REQUIRES: no other thread works any more.
void say_kept_warnings();

/// Prints the error on standard error, with its whole log beneath; with `--json` also as a document.
void report(const Globals& globals, const Error& error);

/// Runs `work` and gives its exit status. A Failure is reported, and gives the status that it deserves.
template <class Work>
[[nodiscard]] ExitCode reported(const Globals& globals, const Work& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    report(globals, failure.error());
    return exit_code_of(failure.error().code);
  }
}

/// Does `work` for each item, also after one has failed. Gives the worst exit status.
template <class Items, class Work>
[[nodiscard]] ExitCode for_each(const Globals& globals, const Items& items, const Work& work) {
  ExitCode worst = ExitCode::done;
  for (const auto& item : items)
    worst = std::max(worst, reported(globals, [&] { return work(item); }));
  return worst;
}

/// A compiler's log beneath a line that says whose it is, on standard error.
void print_log(std::string_view title, std::string_view log);

/// Prints on standard error what the library logs while it works.
[[nodiscard]] LogCallback log_to_standard_error();

/// The whole of a file, or of standard input for "-". Errors: io_failed.
[[nodiscard]] std::string read_input(const std::filesystem::path& path);

/// Absolute, without "." and "..", and without a slash at its end. Errors: invalid_argument where that takes a working directory
/// that is gone.
[[nodiscard]] std::filesystem::path absolute_path(const std::filesystem::path& path);

/// What a file gets that nobody wants another mode of.
inline constexpr mode_t usual_mode = 0666;

/// A file appears whole or not at all, and replaces what was there. A device, a pipe or a link is
/// written in place. Errors: io_failed, naming the path. `mode` is what the file gets, without what the umask takes away; with
/// the usual one, in the place of another, what that has.
void write_file(const std::filesystem::path& path, std::string_view bytes,
                mode_t mode = usual_mode);

/// Errors: invalid_argument where the output is one of the files that are read.
void refuse_to_overwrite(const std::filesystem::path& output,
                         const std::vector<std::filesystem::path>& inputs);

/// The same for an image, a page or a list. Errors: also where something lies there that is none of these and would be lost: a
/// source or a key (by its ending), a bundle or a cache.
void check_output_file(const std::filesystem::path& output,
                       const std::vector<std::filesystem::path>& inputs,
                       bool may_be_source = false);

/// Where a file's name may be "-", for standard output. Errors: invalid_argument for that with `--json`, whose document
/// goes there too.
void check_standard_output(const Globals& globals, const std::filesystem::path& output);

/// The same for what is no text. Errors: also invalid_argument for "-" where that is a terminal.
void check_binary_output(const Globals& globals, const std::filesystem::path& output);

/// Writes a file as write_file() does, or for "-" standard output. Errors: io_failed; invalid_argument for what is no text
/// where that is a terminal.
void write_output(const std::filesystem::path& path, std::string_view bytes);

/// Copies all from here on, which may be more than there is memory. Errors: io_failed where standard output cannot be written.
void copy_to_standard_output(std::istream& from);

/// Warns of each on standard error, up to a number that people read; `--json` tells all.
void warn_of_each(const Globals& globals, const std::vector<std::string>& lines,
                  std::string_view title = {});

/// Flushes what was printed. Errors: io_failed, also for a failure some lines ago.
void flush_standard_output();

}  // namespace kiln::cli
