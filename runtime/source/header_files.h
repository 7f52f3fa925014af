#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kiln/digest.h"
#include "kiln/headers.h"
#include "kiln/request.h"
#include "source/directives.h"

namespace kiln {

/// A header's text and what it says, read once.
struct HeaderText {
  std::string text;
  Digest digest;
  Directives directives;

  /// The macros that it defines. They are read when they are first asked for, since few programs ask. Safe to call
  /// from any thread.
  [[nodiscard]] const MacroBodies& macros() const;

  /// It without its comments, as without_comments() gives it, its lines joined. Made when it is first asked for. Safe to call from
  /// any thread.
  [[nodiscard]] const std::string& code() const;

  /// Those of its words that are pieces of one of these names, as add_pieces() finds them. Remembers them, since the programs of
  /// an engine ask for the same names. Safe to call from any thread.
  [[nodiscard]] Words pieces_of(const Words& names) const;

 private:
  mutable std::once_flag macros_read_;
  mutable MacroBodies macros_;
  mutable std::once_flag code_read_;
  mutable std::string code_;
  mutable std::mutex pieces_mutex_;
  mutable std::map<Words, Words> pieces_;  ///< By the names.
};

/// Whether this stamp tells the file from a changed one. A file that was written a moment ago may be written again within
/// one tick of its filesystem's clock, and look the same. For files of images see mounts.h.
[[nodiscard]] bool is_settled(const FileStamp& stamp, std::chrono::system_clock::time_point now =
                                                          std::chrono::system_clock::now());

/// The largest header that is read, in bytes. A program that includes a larger one is compiled and not kept.
inline constexpr std::uint64_t most_header_bytes = std::uint64_t{64} << 20;

[[nodiscard]] FileStamp stamp_in(const struct stat& status);

/// What was read of a file. No string, which would be filled with zeros first: that is a fifth of what a look-up does.
struct FileText {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  [[nodiscard]] std::string_view view() const noexcept { return {bytes.get(), size}; }
};

/// A file's text. Where there is none, `error` is errno (EFBIG for a file that is too large), or 0 if the file is no longer
/// what was found: it was written anew, or a folder on the way was exchanged.
struct FileRead {
  std::optional<FileText> text = {};
  int error = 0;
  bool may_be_of_image = false;  ///< Its stamp tells it only within `mount`.
  std::uint64_t mount = 0;       ///< From mount_of(), if it may be of an image.
};
[[nodiscard]] FileRead read_file(const std::string& path, const FileStamp& found);

/// The stamp of a regular file, a link followed. Nothing if there is none.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path);

/// The same for a path that begins in an open directory.
[[nodiscard]] std::optional<FileStamp> stamp_of(int directory, const char* path);

/// Reads headers and remembers those that are embedded or settled, so that many compiles read and scan each once. Reads a file
/// again if its stamp has changed, or if it may be of an image and is seen through another mount. Safe to use from any
/// thread.
class HeaderFiles {
 public:
  /// The file's content; nullptr if it cannot be read. `stamp` is the one with which it was found.
  [[nodiscard]] std::shared_ptr<const HeaderText> read(const std::string& path,
                                                       const FileStamp& stamp);

  /// An embedded header's text.
  [[nodiscard]] std::shared_ptr<const HeaderText> embedded(const EmbeddedHeader& header);

  /// The digest alone. Neither keeps nor scans the text: a look-up that will likely hit needs neither.
  [[nodiscard]] std::optional<Digest> digest(const std::string& path, const FileStamp& stamp);

  /// The hash alone, as text_hash() gives it. REQUIRES: a key was read.
  [[nodiscard]] std::optional<std::string> hash(const std::string& path, const FileStamp& stamp);

 private:
  struct Known {
    FileStamp stamp;
    std::uint64_t mount = 0;  ///< The only mount within which it is known; 0 for all.
    Digest digest;
    std::shared_ptr<const HeaderText> text;
    std::string hash = {};  ///< Empty where nobody has asked for it.
  };
  [[nodiscard]] std::optional<Known> recall(const std::string& path, const FileStamp& stamp);
  void remember(const std::string& path, const FileRead& read, Known known);

  std::mutex mutex_;
  std::map<std::string, Known> known_;
  std::unordered_map<Digest, std::shared_ptr<const HeaderText>, DigestHash> embedded_;
};

/// Scans a text that is in memory: a source, or an embedded header.
[[nodiscard]] std::shared_ptr<const HeaderText> scan_text(std::string text);

}  // namespace kiln
