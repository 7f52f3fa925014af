#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kiln::test {

/// What a tool of the toolkit's came to.
struct ToolOutcome {
  int status = -1;
  std::string output;  ///< Of both streams.
};

/// Runs a command line of the shell's.
inline ToolOutcome run_tool(const std::string& command) {
  ToolOutcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    outcome.output.append(buffer.data(), size);
  outcome.status = ::pclose(pipe);
  return outcome;
}

/// A program of the CUDA toolkit or of binutils that runs; nothing where this machine has none, as one has that
/// got its compiler from wheels.
inline std::optional<std::filesystem::path> find_tool(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  for (const auto* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) folders.emplace_back(std::string(root) + "/bin");
  }
  for (const auto* folder : {"/usr/local/cuda/bin", "/usr/local/bin", "/usr/bin"})
    folders.emplace_back(folder);
  for (const auto& folder : folders) {
    const auto tool = folder / name;
    // It may be a link or a script that leads to a toolkit which is not there.
    if (std::filesystem::exists(tool) && run_tool(tool.string() + " --version").status == 0)
      return tool;
  }
  return std::nullopt;
}

}  // namespace kiln::test

/// Where a tool is not on this machine, the rest of the test is skipped, visibly.
#define KILN_NEEDS_TOOL(variable, name)                \
  const auto variable = ::kiln::test::find_tool(name); \
  if (!(variable)) GTEST_SKIP() << "there is no " name " on this machine"
