#include <exception>

#include <fmt/format.h>

#include "grammar.h"
#include "output.h"

namespace kiln::cli {

namespace {

ExitCode run(int argc, char** argv) {
  const auto line = parse_command_line(argc, argv);
  if (!line.action) return line.without_action;
  auto result = line.action(line.globals);
  if (const auto flushed = flush_standard_output(); result && !flushed) {
    result = tl::unexpected(flushed.error());
  }
  if (result) return *result;
  report(line.globals, result.error());
  return exit_code_of(result.error().code);
}

}  // namespace

}  // namespace kiln::cli

int main(int argc, char** argv) {
  try {
    return static_cast<int>(kiln::cli::run(argc, argv));
  } catch (const std::exception& error) {
    // Standard output that cannot be written, for one.
    fmt::print(stderr, "kiln: error: {}\n", error.what());
    return static_cast<int>(kiln::cli::ExitCode::failure);
  }
}
