#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/private_path.h"
#include "kiln/error.h"
#include "system/descriptor.h"

namespace kiln::storage {

/// Whose files are read.
struct StoreReaders {
  bool of_anybody = false;  ///< Then `trust` says nothing.
  Trust trust = {};
  bool mark_used = false;  ///< Whether a file tells when it was read last.
};

/// A name in a folder of a store, and how the file lies there.
struct StoreFile {
  std::string name;
  std::int64_t used =
      0;  ///< Seconds since 1970. What is marked as used in the future is as old as can be.
  std::uint64_t size = 0;
};

/// A folder of a store that machines share, open. Others may write there and mean harm, so that nothing is done by a path: no link
/// is followed below it, and nothing but regular files and folders is opened. Nothing is locked: files appear whole, and go.
/// Errors are io_failed and cache_unusable; they name the path.
class StoreFolder {
 public:
  /// One that is named by a person, who may have named a link. Nothing where there is none.
  [[nodiscard]] static Result<std::optional<StoreFolder>> open(const std::filesystem::path& path);

  /// One in this folder. Nothing where there is none.
  [[nodiscard]] Result<std::optional<StoreFolder>> folder(const std::string& name) const;
  /// The same, made where there is none: with the group and the rights of this one, whatever the umask, from its first moment on;
  /// where it cannot have that group, the one that it has may do what anybody may. Where the filesystem cannot rename without
  /// replacing, there is a file `.kiln-made` in it.
  [[nodiscard]] Result<StoreFolder> make_folder(const std::string& name) const;

  /// Makes one that is not there, which one of several can; whether this one did. With that group and those rights a moment later.
  [[nodiscard]] Result<bool> make_new_folder(const std::string& name) const;
  /// Removes a folder with these files in it, as far as there are any; leaves one with others as it is.
  void remove_folder(const std::string& name, const std::vector<std::string>& files) const;

  /// The file's bytes. Nothing where there is none. Errors: also too_large.
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& name,
                                                        std::uint64_t most_bytes,
                                                        const StoreReaders& readers) const;
  /// Gives whether these bytes were not there, as these readers read. What else lies under the name is replaced. 0644.
  [[nodiscard]] Result<bool> write(const std::string& name, std::string_view bytes,
                                   const StoreReaders& readers) const;

  /// Makes a file and removes it, so that the folder's time is another.
  void change_again() const;

  /// The names that have so many lowercase hexadecimal digits. Errors: also too_large, for more names than a look-up reads.
  [[nodiscard]] Result<std::vector<std::string>> names(std::size_t digits) const;
  /// The same of regular files; of more than so many, any.
  [[nodiscard]] Result<std::vector<StoreFile>> files(std::size_t digits, std::size_t most) const;

  /// Tells each of these names, however many there are; what is told may be removed at once. Errors: also those of `visit`, which
  /// end it.
  using Visit = std::function<Outcome(const std::string& name)>;
  [[nodiscard]] Outcome for_each_name(std::size_t digits, const Visit& visit) const;

  /// A regular file; nothing for anything else.
  [[nodiscard]] std::optional<StoreFile> file(const std::string& name) const noexcept;

  [[nodiscard]] Outcome remove_file(const std::string& name) const;
  /// Removes what writers left behind that died more than an hour ago.
  void remove_left_behind() const;
  /// Removes what was not changed for a day, files and empty folders, in this one and so many folders below it.
  void remove_old(int depth) const;

 private:
  StoreFolder(system::Descriptor descriptor, std::filesystem::path path) noexcept;

  [[nodiscard]] tl::unexpected<Error> failure(std::string_view doing, const std::string& name,
                                              int error) const;
  [[nodiscard]] Result<system::Descriptor> open_file(const std::string& name,
                                                     const StoreReaders& readers) const;
  [[nodiscard]] bool is_there(const std::string& name, std::string_view bytes,
                              const StoreReaders& readers) const;
  /// Tells all that lies here.
  [[nodiscard]] Outcome for_each(const Visit& visit) const;

  system::Descriptor descriptor_;
  std::filesystem::path path_;  ///< For messages.
};

}  // namespace kiln::storage
