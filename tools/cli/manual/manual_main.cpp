// Writes the tool's manual page and its completions into a folder, while kiln is built.
//
//   kiln-manual FOLDER

#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "grammar/grammar_description.h"
#include "manual/completion.h"
#include "manual/manual.h"

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream.exceptions(std::ios::failbit | std::ios::badbit);
  stream << text;
  stream.close();
}

void write_all(const std::filesystem::path& folder) {
  const auto grammar = kiln::cli::describe_command_line();
  write(folder / "kiln.1", kiln::cli::manual_page(grammar));
  write(folder / "bash" / "kiln", kiln::cli::bash_completion(grammar));
  write(folder / "zsh" / "_kiln", kiln::cli::zsh_completion(grammar));
  write(folder / "fish" / "kiln.fish", kiln::cli::fish_completion(grammar));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: kiln-manual FOLDER\n");
    return 2;
  }
  try {
    write_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kiln-manual: {}\n", error.what());
    return 1;
  }
}
