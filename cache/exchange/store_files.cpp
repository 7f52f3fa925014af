#include "exchange/store_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "system/descriptor.h"
#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr mode_t mode_of_store_files = 0644;
/// But for the sticky bit, and for those that belong to programs.
constexpr mode_t rights_of_folders = 02777;

constexpr std::string_view unfinished = ".kiln-tmp";
constexpr std::time_t an_hour = 3600;
constexpr std::time_t a_day = 24 * an_hour;

/// Of a regular file, which is marked as used just now.
std::optional<std::uint64_t> size_of_used(const fs::path& file) {
  struct stat status;
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  // Who may not mark another's file leaves it as old as it is.
  static_cast<void>(::utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW));
  return static_cast<std::uint64_t>(status.st_size);
}

/// A file that has another name until it is whole.
class NewFile {
 public:
  explicit NewFile(const fs::path& place) : place_(place) {
    std::random_device random;
    temporary_ =
        place.parent_path() / fmt::format(".{:08x}{:08x}{}", random(), random(), unfinished);
    file_ = system::Descriptor(system::open_file(
        temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (file_) ::unlink(temporary_.c_str());
  }

  Result<void> publish(std::string_view bytes) {
    const bool whole = file_ && system::write_whole(file_.get(), bytes) &&
                       ::fchmod(file_.get(), mode_of_store_files) == 0 &&
                       ::fsync(file_.get()) == 0 &&
                       ::rename(temporary_.c_str(), place_.c_str()) == 0;
    if (!whole) return store_failure(place_, "writing", errno);
    file_.reset();
    return {};
  }

 private:
  const fs::path place_;
  fs::path temporary_;
  system::Descriptor file_;
};

bool is_name(std::string_view name, std::size_t digits) {
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

/// The names in a folder that `is_wanted` takes.
template <class IsWanted>
Result<std::vector<std::string>> names_in(const fs::path& folder, const IsWanted& is_wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    auto name = item->path().filename().string();
    if (is_wanted(name)) names.push_back(std::move(name));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return store_failure(folder, "listing", error.value());
  return names;
}

}  // namespace

tl::unexpected<Error> store_failure(const fs::path& path, std::string_view doing, int error) {
  return fail(
      ErrorCode::io_failed,
      fmt::format("store: {} '{}' failed: {}; free some room, or give the user the right to "
                  "it",
                  doing, path.string(), std::generic_category().message(error)));
}

Result<void> make_store_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0)
    return errno == EEXIST ? Result<void>() : store_failure(folder, "making", errno);
  struct stat parent;
  if (::stat(folder.parent_path().c_str(), &parent) != 0 ||
      ::chmod(folder.c_str(), parent.st_mode & rights_of_folders) != 0) {
    return store_failure(folder, "setting the rights of", errno);
  }
  return {};
}

Result<bool> write_store_file(const fs::path& file, std::string_view bytes) {
  if (size_of_used(file) == bytes.size()) return false;
  if (auto made = make_store_folder(file.parent_path()); !made)
    return tl::unexpected(std::move(made.error()));
  if (auto published = NewFile(file).publish(bytes); !published)
    return tl::unexpected(std::move(published.error()));
  return true;
}

void mark_store_file_used(int descriptor) noexcept {
  struct stat status;
  if (::fstat(descriptor, &status) == 0 && status.st_mtim.tv_sec < std::time(nullptr) - a_day)
    static_cast<void>(::futimens(descriptor, nullptr));
}

Result<std::vector<std::string>> store_names_in(const fs::path& folder, std::size_t digits) {
  return names_in(folder, [&](std::string_view name) { return is_name(name, digits); });
}

void remove_left_behind(const fs::path& folder) {
  const auto names =
      names_in(folder, [](std::string_view name) { return name.ends_with(unfinished); });
  // What cannot be listed has nothing that could be removed.
  if (!names) return;
  for (const auto& name : *names) {
    const auto file = folder / name;
    struct stat status;
    if (::lstat(file.c_str(), &status) == 0 &&
        status.st_mtim.tv_sec < std::time(nullptr) - an_hour) {
      ::unlink(file.c_str());
    }
  }
}

}  // namespace kiln::storage
