#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/manifest.h"
#include "kiln/observer.h"

namespace kiln {

struct RecordLine;

/// Writes down what a runtime is asked for: a manifest of one line per program and target, each text
/// in it once, ready for `kiln prewarm`.
///
/// Processes share one file. Each reads what others have added, and appends under a lock, in one write, what it does
/// not find there. The next writer cuts off a line that a killed process left torn. The recorder warns once of a
/// fault, and a fault ends the recording. A lock that is held too long does not: the request is written down when it
/// is asked for again. Safe to use from any thread.
class Recorder {
 public:
  /// `warn` is told of a fault.
  Recorder(std::filesystem::path file, std::function<void(const std::string&)> warn);

  /// Whether this request is still to be noted, so that the caller need not list it in vain. `request` names a
  /// program with all that it may include, and a target.
  [[nodiscard]] bool wants(const Digest& request);

  /// Never fails. Warns, once, of what cannot be listed. REQUIRES: as record_line().
  void note(const Digest& request, const Result<ListedProgram>& listed);

 private:
  Result<bool> append(const RecordLine& line);
  Outcome read_what_others_added(int file);
  Outcome learn(std::string_view lines);
  Outcome write_line(int file, const RecordLine& line);
  void tell(const std::string& what);

  const std::filesystem::path file_;
  const std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  bool told_ = false;
  bool ended_ = false;
  std::set<Digest> noted_;     // Requests of this process.
  std::set<Digest> programs_;  // In the file, as far as it has been read; so are the texts.
  std::set<Digest> texts_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t read_ = 0;  // How far the file has been read, at the end of a line.
};

}  // namespace kiln
