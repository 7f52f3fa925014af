#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::cli {

/// Bytes that another program can read as a file, without one that anybody else could read or that a killed process would
/// leave behind.
class BytesAsFile {
 public:
  /// Errors: io_failed.
  explicit BytesAsFile(std::string_view bytes);
  BytesAsFile(const BytesAsFile&) = delete;
  BytesAsFile& operator=(const BytesAsFile&) = delete;
  ~BytesAsFile();

  /// What a program that this process starts has to open.
  [[nodiscard]] std::string path() const;

 private:
  int descriptor_;
};

/// Runs a program with these arguments, without a shell, and hands on each line that it prints, without its end, as soon as
/// it is there. What the program says on standard error goes to the tool's own. `search_first` goes before the folders of
/// the program's PATH. Errors: io_failed where it cannot be started, or does not end well.
void run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::filesystem::path& search_first,
                 const std::function<void(std::string_view line)>& line);

}  // namespace kiln::cli
