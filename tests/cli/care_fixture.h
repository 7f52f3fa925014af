#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tool.h"

namespace kiln::tests {

// What looks after a cache, run where there is no CUDA.
class Care : public ToolTest {
 protected:
  Care() {
    first_ = compile({source_, "--arch", "sm_80", "--name", "fill"})["key"];
    second_ = compile({source_, "--arch", "sm_90", "--name", "fill"})["key"];
    third_ = compile({file("another.cu", scale_source), "--arch", "sm_80", "--image", "ptx",
                      "--name", "fill"})["key"];
  }

  Outcome care(const std::vector<std::string>& arguments, Circumstances more = {}) const {
    auto circumstances = without_cuda();
    circumstances.environment.merge(more.environment);
    circumstances.input = more.input;
    circumstances.terminal = more.terminal;
    return run(arguments, circumstances);
  }

  nlohmann::json json(std::vector<std::string> arguments, int exit_code = 0) const {
    arguments.insert(arguments.begin(), "--json");
    const auto outcome = care(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
    const auto documents = outcome.documents();
    EXPECT_FALSE(documents.empty());
    return documents.empty() ? nlohmann::json() : documents.back();
  }

  [[nodiscard]] std::size_t entries() const { return care({"--json", "ls"}).documents().size(); }

  /// Damages the payload of some entry, wherever it lies: a frame begins with "kilF".
  void damage_all_frames() const {
    auto bytes = read(database());
    for (auto at = bytes.find("kilF"); at != std::string::npos; at = bytes.find("kilF", at + 1)) {
      bytes[at + 30] ^= 1;
    }
    file("cache/kernels.v1.db", bytes);
  }

  std::string source_ = file("scale.cu", scale_source);
  std::string first_;
  std::string second_;
  std::string third_;
};

}  // namespace kiln::tests
