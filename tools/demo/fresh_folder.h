#pragma once

#include <filesystem>

namespace demo {

/// A folder that goes with this object, and with a process that SIGHUP, SIGINT or SIGTERM ends. From the first one
/// on, these signals are blocked in the threads that make and follow it; one thread takes them. Errors: those of the
/// system, as exceptions.
class FreshFolder {
 public:
  FreshFolder();
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;
  ~FreshFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace demo
