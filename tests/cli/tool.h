#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kiln::tests {

/// What a process left behind.
struct Outcome {
  int exit_code = -1;  ///< 128 and the signal's number for one that was killed.
  std::string out;
  std::string err;

  /// Standard output as one document per line.
  [[nodiscard]] std::vector<nlohmann::json> documents() const;
};

/// How the tool is started, beside its arguments.
struct Circumstances {
  std::map<std::string, std::string> environment =
      {};  ///< Added to what the test itself runs with.
  std::string input = {};
  std::optional<std::string> output =
      {};                        ///< Where standard output goes instead of into the Outcome.
  bool terminal = false;         ///< Standard output is a terminal.
  std::vector<int> closed = {};  ///< Standard streams that are closed.
  std::optional<std::uint64_t> file_size = {};  ///< The limit on the size of files.
  /// It belongs to the user who runs the tests, with whose rights it runs; another one starts it.
  bool set_user_id = false;
  bool no_override = false;  ///< Of root's rights, without the one to read and write everything.
  bool no_folder = false;    ///< The working directory is gone.
};

/// A scratch folder with a cache of its own, and the real tool to run in it.
class ToolTest : public testing::Test {
 protected:
  ToolTest();
  ~ToolTest() override;

  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                            const Circumstances& circumstances = {}) const;

  /// Starts the tool and does not wait: standard output and error go to files of these names. Gives its
  /// process, which is the caller's to wait for.
  [[nodiscard]] pid_t start(const std::vector<std::string>& arguments, const std::string& out,
                            const std::string& err) const;

  /// The one line of JSON that `compile` prints for one target. Fails the test if it does not.
  nlohmann::json compile(const std::vector<std::string>& arguments) const;

  /// Writes a file into the scratch folder and gives its path.
  std::string file(const std::string& name, const std::string& text) const;

  [[nodiscard]] std::filesystem::path scratch(const std::string& name) const {
    return folder_ / name;
  }
  [[nodiscard]] std::filesystem::path cache() const { return scratch("cache"); }
  [[nodiscard]] std::filesystem::path database() const { return cache() / "kernels.v1.db"; }

 private:
  std::filesystem::path folder_;
};

/// A template of two parameters, so that its name expressions hold a comma, and a C function.
extern const char* const scale_source;

/// Settings under which nothing of CUDA can be found.
[[nodiscard]] Circumstances without_cuda();

[[nodiscard]] std::string read(const std::filesystem::path& path);

/// Changes a cache's or a bundle's file, or makes a database.
void run_sql(const std::filesystem::path& database, const std::string& sql);

/// The names and contents of all files below a folder.
[[nodiscard]] std::map<std::string, std::string> snapshot(const std::filesystem::path& folder);

}  // namespace kiln::tests
