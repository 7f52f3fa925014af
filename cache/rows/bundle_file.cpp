#include "rows/bundle_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "file/schema.h"
#include "system/standard_streams.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

/// Bundles go into container images, and users other than the one who wrote them read them.
constexpr mode_t rights_of_bundles = 0644;  ///< Less what the umask takes.

constexpr std::string_view suffix = ".kiln-tmp";
constexpr int most_tries = 4;

/// Nobody sees the file before it is synced as a whole, so SQLite needs neither a journal on the disk nor syncs of its
/// own.
constexpr const char* settings_of_a_bundle = "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF";

tl::unexpected<Error> not_written(const fs::path& bundle, std::string_view why) {
  return fail(ErrorCode::io_failed,
              fmt::format("bundle '{}' cannot be written: {}", bundle.string(), why));
}

std::string_view remedy_in_folder(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return "; give yourself the right to its folder, or name another one";
    case ENOSPC:
    case EDQUOT:
      return "; make room there, or name another folder";
    default:
      return "";
  }
}

std::string prefix_of(const fs::path& bundle) { return "." + bundle.filename().string() + "."; }

std::string temporary_name(const fs::path& bundle) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}{}", prefix_of(bundle), random(), random(), suffix);
}

/// Removes the file unless somebody holds its lock: then they are still writing it.
void remove_if_left_behind(const fs::path& file) {
  const int descriptor = system::open_file(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat status;
  const bool own =
      ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  if (own && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
  ::close(descriptor);
}

void remove_what_was_left_behind(const fs::path& folder, const fs::path& bundle) {
  const std::string prefix = prefix_of(bundle);
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix)) remove_if_left_behind(item->path());
  }
}

/// Makes the file and locks it. Until it is whole nobody else reads it; `rights` are those that it is to have then. Gives -1
/// with errno where it cannot be made, and -1 with errno 0 where another process took the new file for one that was left behind.
int make_locked(const fs::path& file, mode_t& rights) {
  const int descriptor =
      system::open_file(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, rights_of_bundles);
  if (descriptor < 0) return -1;
  // Where locks do not work, the other process has no lock either, and removes nothing.
  const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat status;
  if (!taken && ::fstat(descriptor, &status) == 0 && status.st_nlink == 1) {
    rights = status.st_mode & rights_of_bundles;
    if (::fchmod(descriptor, S_IRUSR | S_IWUSR) == 0) return descriptor;
  }
  ::close(descriptor);
  errno = 0;
  return -1;
}

}  // namespace

BundleFile::BundleFile(fs::path bundle, fs::path folder)
    : bundle_(std::move(bundle)), folder_(std::move(folder)) {}

Result<std::unique_ptr<BundleFile>> BundleFile::begin(const fs::path& bundle) {
  if (!bundle.has_filename()) return not_written(bundle, "it names a folder");
  std::error_code error;
  // SQLite follows no symlink, and the way to a bundle may have some.
  const auto absolute = fs::absolute(bundle, error);
  if (error) return not_written(bundle, "the working directory is gone: name an absolute path");
  fs::path folder = fs::canonical(absolute.parent_path(), error);
  if (error) return not_written(bundle, "its folder: " + error.message() + "; make it first");
  if (fs::is_directory(bundle, error))
    return not_written(bundle, "it is a folder; name a file in it");
  remove_what_was_left_behind(folder, bundle);
  std::unique_ptr<BundleFile> file(new BundleFile(bundle, std::move(folder)));
  if (auto made = file->make_file(); !made) return tl::unexpected(made.error());
  if (auto made = file->make_database(); !made) return tl::unexpected(made.error());
  return file;
}

BundleFile::~BundleFile() {
  transaction_.reset();
  connection_.reset();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Outcome BundleFile::make_file() {
  for (int tries = 0; descriptor_ < 0; ++tries) {
    const fs::path file = folder_ / temporary_name(bundle_);
    descriptor_ = make_locked(file, rights_);
    if (descriptor_ >= 0) {
      temporary_ = file;
    } else if ((errno != 0 && errno != EEXIST) || tries == most_tries) {
      return failure("making a file beside it");
    }
  }
  return {};
}

Outcome BundleFile::make_database() {
  auto connection = Connection::open(temporary_, Connection::Mode::read_write);
  if (!connection) return not_written(bundle_, connection.error().message);
  connection_.emplace(std::move(*connection));
  if (connection_->execute(settings_of_a_bundle) != SQLITE_OK || !create_schema(*connection_))
    return failure();
  transaction_.emplace(*connection_);
  if (!transaction_->begin()) return failure();
  return {};
}

Result<std::uint64_t> BundleFile::publish() {
  if (!transaction_->commit()) return failure();
  transaction_.reset();
  connection_.reset();
  struct stat status;
  if (::fchmod(descriptor_, rights_) != 0) return failure("setting its rights");
  if (::fsync(descriptor_) != 0 || ::fstat(descriptor_, &status) != 0) return failure("syncing");
  const fs::path place = folder_ / bundle_.filename();
  if (::rename(temporary_.c_str(), place.c_str()) != 0) return failure("putting it in its place");
  temporary_.clear();
  if (auto synced = sync_folder(); !synced) return tl::unexpected(synced.error());
  return static_cast<std::uint64_t>(status.st_size);
}

Outcome BundleFile::sync_folder() {
  const int folder = system::open_file(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return failure("opening its folder");
  // Some file systems cannot sync a folder and say EINVAL; they keep names in order without it.
  const bool synced = ::fsync(folder) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(folder);
  errno = error;
  if (!synced) return failure("syncing its folder");
  return {};
}

tl::unexpected<Error> BundleFile::failure() {
  return not_written(bundle_, connection_->failure("writing").value().message);
}

/// REQUIRES: errno is that of the failure.
tl::unexpected<Error> BundleFile::failure(std::string_view doing) const {
  const int error = errno;
  return not_written(bundle_,
                     fmt::format("{} failed: {}{}", doing, std::generic_category().message(error),
                                 remedy_in_folder(error)));
}

}  // namespace kiln::storage
