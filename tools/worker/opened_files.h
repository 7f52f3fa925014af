#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "reading_watch.h"

namespace kiln {

/// Learns from the C library which files are opened to be read: NVRTC opens each header that it reads, and each
/// that `__has_include` asks for, with fopen(path, "r"). So what is only asked for counts as read here, where a
/// trace does not name it. Safe to use from any thread.
class OpenedFiles : public ReadingWatch {
 public:
  void begin() override;
  [[nodiscard]] std::vector<std::string> end() override;

  /// Told of each file that was opened so.
  void note(const char* path);

 private:
  std::mutex mutex_;
  bool watching_ = false;
  std::vector<std::string> paths_;
};

/// The process's own, which its fopen() tells.
[[nodiscard]] OpenedFiles& opened_files();

}  // namespace kiln
