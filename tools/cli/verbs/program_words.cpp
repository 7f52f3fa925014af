#include "verbs/program_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>
#include <utility>

#include "kiln/headers.h"
#include "output.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

bool is_standard_input(const ProgramWords& words) { return words.file == "-"; }

std::string name_of(const ProgramWords& words) {
  return is_standard_input(words) ? "stdin.cu" : words.file.filename().string();
}

// As for other compilers, a program finds what lies beside it; one from standard input, what lies here.
std::vector<fs::path> include_dirs_of(const ProgramWords& words) {
  for (const auto& given : words.include_dirs) {
    std::error_code untold;
    if (fs::is_directory(given, untold)) continue;
    warn_once(fmt::format(
        "-I {}: {}", given.string(),
        fs::exists(given, untold) ? "it is a file; name its folder" : "no such folder"));
  }
  const auto folder = is_standard_input(words) ? fs::path() : words.file.parent_path();
  std::vector<fs::path> all{folder / "."};
  all.insert(all.end(), words.include_dirs.begin(), words.include_dirs.end());
  return all;
}

}  // namespace

std::string without_options(std::string message) {
  message.resize(std::min(message.size(), message.rfind("; the options were: ")));
  return message;
}

std::vector<Target> parse_targets(const ProgramWords& words) {
  const auto kind = value_of("--image", parse_image_kind(words.image));
  std::vector<Target> targets;
  for (const auto& arch : words.archs)
    targets.push_back(value_of("--arch", Target::parse(arch, kind)));
  return targets;
}

Program make_program(const ProgramWords& words) {
  auto source = read_input(words.file);
  std::vector<HeaderSet> headers{device_headers()};
  if (words.standard_headers) headers.push_back(standard_headers());
  return Program::make({.name = name_of(words),
                        .source = std::move(source),
                        .headers = std::move(headers),
                        .include_dirs = include_dirs_of(words),
                        .kernels = words.expressions,
                        .options = words.options})
      .value();
}

Error as_given(Error error, const ProgramWords& words, bool verbose) {
  if (!verbose) error.message = without_options(std::move(error.message));
  error.message = with_given_name(std::move(error.message), words);
  error.log = with_given_name(std::move(error.log), words);
  return error;
}

namespace {

bool continues_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

// And is no part of a longer path, such as one of a folder that is called kiln.
bool stands_alone(std::string_view text, std::size_t at, std::size_t size) {
  const auto after = text.substr(at + size);
  const bool goes_on =
      !after.empty() && (continues_a_name(after[0]) ||
                         (after[0] == '.' && after.size() > 1 && continues_a_name(after[1])));
  const char before = at == 0 ? ' ' : text[at - 1];
  return !goes_on && !continues_a_name(before) && before != '/' && before != '.';
}

}  // namespace

std::string with_given_name(std::string text, const ProgramWords& words) {
  const auto name = name_of(words);
  const auto given = is_standard_input(words) ? name : words.file.string();
  const auto compilers = "/kiln/" + name;
  for (std::size_t at = 0; (at = text.find(compilers, at)) != std::string::npos;) {
    const bool is_it = stands_alone(text, at, compilers.size());
    if (is_it) text.replace(at, compilers.size(), given);
    at += is_it ? given.size() : compilers.size();
  }
  return text;
}

}  // namespace kiln::cli
