#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kiln/digest.h"
#include "source/header_search.h"
#include "source/mounts.h"
#include "source/named_roots.h"
#include "source/reading.h"

namespace kiln {

/// The files of one compile. It looks at each path once, when the compiler first asks for it, and answers the same for
/// as long as it lives, whatever becomes of the disk. So the compiler reads what readings() tells, by construction.
/// Two paths of one file (links) are one file here too.
///
/// For one compile, on its thread.
class FileSnapshot {
 public:
  /// `embedded` are the compile's, and must outlive this, and so must `roots`, which name its include directories, or are
  /// nullptr. What lies in `own_folder` is kiln's and no header. Where the output is not to depend on where this process stands,
  /// `hides_working_directory`.
  FileSnapshot(const std::vector<HeaderForCompiler>& embedded, std::string own_folder,
               const NamedRoots* roots = nullptr, bool hides_working_directory = false);
  FileSnapshot(const FileSnapshot&) = delete;
  FileSnapshot& operator=(const FileSnapshot&) = delete;

  /// As ::stat.
  int stat(const char* path, struct stat* status);

  /// As ::fopen(path, "r").
  std::FILE* open(const char* path);

  /// As ::getcwd, but the same as long as it lives, whatever another thread does; and it tells a directory always, since NVRTC reads
  /// what it was not told. That is the root where the real one is hidden or has no name: from there, too, the compiler asks by names
  /// that begin in the real one.
  char* working_directory(char* buffer, std::size_t size) const;

  /// Whether this path is kiln's, and the compiler may do with it what it likes.
  [[nodiscard]] bool is_own(std::string_view path) const;

  /// Notes that the compiler begins to write this file.
  void note_writing(std::string_view path);

  /// Notes that the compiler learned something elsewhere, or something that may not last; and why.
  void doubt(std::string why);

  [[nodiscard]] bool doubts() const noexcept { return lost_track_ || !doubt_.empty(); }

  /// Notes that there was no memory for an answer.
  void lose_track() noexcept { lost_track_ = true; }

  /// Takes over what another compile has read, which began at `when` and made the precompiled header that this one
  /// uses. False if any of that has changed since, also in which of the files are one.
  [[nodiscard]] bool adopt(const Readings& readings, std::chrono::system_clock::time_point when);

  /// Whether a file that was taken over has been asked for by another of its names (a link, a roundabout
  /// path). NVRTC, when it uses a precompiled header, does not know that these are one, and `#pragma once` fails.
  [[nodiscard]] bool met_second_name() const noexcept { return met_second_name_; }

  /// What was asked for until now.
  [[nodiscard]] Readings readings() const;

  /// What was asked for before the compiler began to write a file of kiln's own folder, as it does with a
  /// precompiled header. Nothing where it wrote none.
  [[nodiscard]] std::optional<Readings> readings_before_writing() const;

  /// Calls `look` with the text of each file that was asked for until then, and opened since, as it lies on the disk.
  void each_text_before_writing(const std::function<void(std::string_view)>& look) const;

 private:
  struct File {
    int error = 0;  ///< Of ::stat; 0 where something is there.
    struct stat status {};
    bool regular = false;
    int read_error = 0;  ///< Why its text is not known.
    std::string text;
    Digest content;
    FileStamp stamp;            ///< Where it is regular.
    bool is_loaded = false;     ///< An adopted file is loaded when it is opened.
    std::uint32_t read_at = 0;  ///< As of a Reading.
    bool is_adopted = false;
  };
  using FilePtr = std::shared_ptr<File>;

  struct Asked {
    FilePtr file;
    std::string path;  ///< As Reading::path,
    std::uint32_t root = Reading::no_root;
    std::uint32_t at = 0;  ///< As Reading::asked_at; 0 where nothing of it was told.
    std::shared_ptr<const std::string> text =
        {};  ///< Once it was opened; below a name, it tells the path.
  };

  const FilePtr& look(const std::string& asked, bool opening);
  FilePtr look_at_disk(const std::string& path);
  [[nodiscard]] bool load(const std::string& path, File& file);
  [[nodiscard]] bool note_embedded(const std::string& path);
  void note_embedded_read(std::string_view name, std::uint32_t at);
  [[nodiscard]] bool adopt(const Reading& reading, std::chrono::system_clock::time_point when);
  [[nodiscard]] bool are_one_as_then(const Readings& readings) const;
  void resolve(const std::string& asked_as, Asked& asked);
  [[nodiscard]] static std::shared_ptr<const std::string> text_of(const Asked& asked);
  void note(const std::string& asked_as, Asked& asked, std::uint32_t at);

  const NamedRoots* const roots_;
  const std::string own_folder_;
  const std::string working_directory_;
  const bool stands_at_root_;
  std::unordered_set<std::string_view> embedded_names_;
  std::unordered_map<std::string, Asked> files_;  ///< By the compiler's spelling.
  std::map<std::pair<dev_t, ino_t>, FilePtr> by_identity_;
  MountedImages images_;
  std::vector<std::string> asked_;  ///< As the compiler spelled them, in order.
  std::vector<EmbeddedReading> embedded_read_;
  std::shared_ptr<std::uint32_t> events_;  ///< How many there were; shared with open texts.
  struct Counts {
    std::size_t files;
    std::size_t embedded;
    std::uint32_t events;
  };
  std::optional<Counts> before_writing_;
  bool relative_ = false;
  std::string doubt_;
  bool lost_track_ = false;
  bool met_second_name_ = false;
};

}  // namespace kiln
