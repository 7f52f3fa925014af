#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kiln/digest.h"
#include "kiln/request.h"
#include "source/directives.h"

namespace kiln {

/// A header's text and what it says, read once.
struct HeaderText {
  std::string text;
  Digest digest;
  Directives directives;

  /// Those that it defines. Read when they are first asked for, since few programs ask. Safe to call from
  /// any thread.
  [[nodiscard]] const MacroBodies& macros() const;

 private:
  mutable std::once_flag macros_read_;
  mutable MacroBodies macros_;
};

/// Whether a file that looks like this can be told from a changed one by its looks: one written a
/// moment ago may be written again within one tick of its filesystem's clock, and look the same. What else may
/// look the same is the matter of mounts.h.
[[nodiscard]] bool is_settled(const FileStamp& stamp, std::chrono::system_clock::time_point now =
                                                          std::chrono::system_clock::now());

/// The largest header that is read, in bytes: what includes a larger one is compiled and not kept.
inline constexpr std::uint64_t most_header_bytes = std::uint64_t{64} << 20;

[[nodiscard]] FileStamp stamp_in(const struct stat& status);

/// A file's text; else `error`, as errno (EFBIG for one that is too large), or 0 where it is no longer what
/// was found: it was written anew, or a folder on the way was exchanged.
struct FileRead {
  std::optional<std::string> text;
  int error = 0;
  bool may_be_of_image = false;  ///< Its looks tell it only within `mount`.
  std::uint64_t mount = 0;       ///< As of mount_of(), where it may be of an image.
};
[[nodiscard]] FileRead read_file(const std::string& path, const FileStamp& found);

/// How a regular file looks now, a link followed; nothing where there is none.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path);

/// The same of a path that begins in an open directory.
[[nodiscard]] std::optional<FileStamp> stamp_of(int directory, const char* path);

/// Reads header files and remembers those that are settled, so that many compiles read and scan each
/// once. A file that no longer looks as it did is read again, and so is one that may be of another image since it
/// is seen through another mount. Safe to use from any thread.
class HeaderFiles {
 public:
  /// The file's content; nullptr if it cannot be read. `stamp` is how it looked when it was found.
  [[nodiscard]] std::shared_ptr<const HeaderText> read(const std::string& path,
                                                       const FileStamp& stamp);

  /// The digest alone, without keeping or scanning the text: for a look-up that will likely hit.
  [[nodiscard]] std::optional<Digest> digest(const std::string& path, const FileStamp& stamp);

 private:
  struct Known {
    FileStamp stamp;
    std::uint64_t mount = 0;  ///< Within which alone it is known; 0 for all.
    Digest digest;
    std::shared_ptr<const HeaderText> text;
  };
  [[nodiscard]] std::optional<Known> recall(const std::string& path, const FileStamp& stamp);
  void remember(const std::string& path, const FileRead& read, Known known);

  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

/// What an embedded or generated text says. For texts that are in memory anyway.
[[nodiscard]] std::shared_ptr<const HeaderText> scan_text(std::string text);

}  // namespace kiln
