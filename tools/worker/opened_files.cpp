#include "opened_files.h"

#include <algorithm>
#include <utility>

namespace kiln {

void OpenedFiles::begin() {
  const std::lock_guard lock(mutex_);
  watching_ = true;
  paths_.clear();
}

std::vector<std::string> OpenedFiles::end() {
  const std::lock_guard lock(mutex_);
  watching_ = false;
  std::sort(paths_.begin(), paths_.end());
  paths_.erase(std::unique(paths_.begin(), paths_.end()), paths_.end());
  return std::exchange(paths_, {});
}

void OpenedFiles::note(const char* path) {
  const std::lock_guard lock(mutex_);
  if (watching_) paths_.emplace_back(path);
}

OpenedFiles& opened_files() {
  static OpenedFiles files;
  return files;
}

}  // namespace kiln
