#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "file/private_path.h"
#include "kiln/exchange.h"
#include "system/descriptor.h"
#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr const char* folder_of_stores = "kiln-store.v1";
constexpr std::size_t digits_of_objects = 64;
constexpr std::size_t digits_of_requests = 32;
/// Folders of very many files are slow: names are spread by their first digits.
constexpr std::size_t digits_of_folders = 2;

constexpr std::uint64_t most_hint_bytes = std::uint64_t{2} << 20;
constexpr std::size_t most_hints = 64;

constexpr mode_t mode_of_files = 0644;
constexpr mode_t all_rights = 02777;

bool is_name(std::string_view name, std::size_t digits) {
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

tl::unexpected<Error> failed(const fs::path& path, std::string_view doing, int error) {
  return fail(
      ErrorCode::io_failed,
      fmt::format("store: {} '{}' failed: {}; free some room, or give the user the right to "
                  "it",
                  doing, path.string(), std::generic_category().message(error)));
}

/// Makes the folder where there is none, with the rights of the one that it lies in.
Result<void> make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0) {
    return errno == EEXIST ? Result<void>() : failed(folder, "making", errno);
  }
  struct stat parent;
  if (::stat(folder.parent_path().c_str(), &parent) != 0 ||
      ::chmod(folder.c_str(), parent.st_mode & all_rights) != 0) {
    return failed(folder, "setting the rights of", errno);
  }
  return {};
}

/// Where it is one of a store already: its size; and as used just now, which those who collect go by.
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
    temporary_ = place.parent_path() / fmt::format(".{:08x}{:08x}.kiln-tmp", random(), random());
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
                       ::fchmod(file_.get(), mode_of_files) == 0 && ::fsync(file_.get()) == 0 &&
                       ::rename(temporary_.c_str(), place_.c_str()) == 0;
    if (!whole) return failed(place_, "writing", errno);
    file_.reset();
    return {};
  }

 private:
  const fs::path place_;
  fs::path temporary_;
  system::Descriptor file_;
};

/// The names in a folder that have so many hexadecimal digits; none where there is no such folder.
Result<std::vector<std::string>> names_in(const fs::path& folder, std::size_t digits) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    auto name = item->path().filename().string();
    if (is_name(name, digits)) names.push_back(std::move(name));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return failed(folder, "listing", error.value());
  return names;
}

class FileStore final : public ObjectStore {
 public:
  FileStore(fs::path folder, const FileStoreOptions& options)
      : objects_(folder / "objects"),
        requests_(folder / "requests"),
        believes_nobody_(!options.trusted_keys.empty()),
        trust_{.cache = options.trust, .owned_by_root = true} {
    // The rights of a group's cache are not those of a store.
    trust_.cache.group.reset();
  }

  Result<void> make() const {
    if (auto made = make_folder(objects_.parent_path()); !made) return made;
    if (auto made = make_folder(objects_); !made) return made;
    return make_folder(requests_);
  }

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    return read(place_in(objects_, name), most_bytes);
  }

  Result<bool> put(const std::string& name, std::string_view bytes) override {
    return write(place_in(objects_, name), bytes);
  }

  Result<std::vector<std::string>> hints(const Digest& request) override {
    const auto folder = place_in(requests_, request.hex());
    auto names = names_in(folder, digits_of_objects);
    if (!names) return names;
    std::vector<std::pair<std::int64_t, std::string>> by_time;
    for (auto& name : *names) {
      struct stat status;
      if (::lstat((folder / name).c_str(), &status) == 0)
        by_time.emplace_back(-status.st_mtim.tv_sec, std::move(name));
    }
    std::ranges::sort(by_time);
    by_time.resize(std::min(by_time.size(), most_hints));
    names->clear();
    for (auto& [time, name] : by_time) names->push_back(std::move(name));
    return names;
  }

  Result<std::optional<std::string>> hint(const Digest& request, const std::string& name) override {
    return read(place_in(requests_, request.hex()) / name, most_hint_bytes);
  }

  Result<void> add_hint(const Digest& request, const std::string& name,
                        std::string_view hint) override {
    const auto folder = place_in(requests_, request.hex());
    if (auto made = make_folder(folder.parent_path()); !made) return made;
    auto written = write(folder / name, hint);
    if (!written) return tl::unexpected(std::move(written.error()));
    return {};
  }

  Result<std::vector<Digest>> requests() override {
    std::vector<Digest> all;
    const auto folders = names_in(requests_, digits_of_folders);
    if (!folders) return tl::unexpected(folders.error());
    for (const auto& folder : *folders) {
      const auto names = names_in(requests_ / folder, digits_of_requests);
      if (!names) return tl::unexpected(names.error());
      for (const auto& name : *names) all.push_back(*Digest::from_hex(name));
    }
    std::ranges::sort(all);
    return all;
  }

 private:
  static fs::path place_in(const fs::path& folder, const std::string& name) {
    return folder / name.substr(0, digits_of_folders) / name;
  }

  /// Whether it was not there before. One of another size has been damaged.
  static Result<bool> write(const fs::path& place, std::string_view bytes) {
    if (size_of_used(place) == bytes.size()) return false;
    if (auto made = make_folder(place.parent_path()); !made) return tl::unexpected(made.error());
    if (auto published = NewFile(place).publish(bytes); !published)
      return tl::unexpected(published.error());
    return true;
  }

  [[nodiscard]] Result<std::optional<std::string>> read(const fs::path& file,
                                                        std::uint64_t most_bytes) const {
    const auto opened = open(file);
    if (!opened) return tl::unexpected(opened.error());
    const system::Descriptor descriptor(*opened);
    if (!descriptor) return std::optional<std::string>();
    struct stat status;
    if (::fstat(descriptor.get(), &status) != 0) return failed(file, "reading", errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (!S_ISREG(status.st_mode) || size > most_bytes) {
      return fail(ErrorCode::too_large,
                  fmt::format("store: '{}' is no file of a store, or is larger than it can be",
                              file.string()));
    }
    auto bytes = system::read_whole(descriptor.get(), size);
    if (!bytes) return failed(file, "reading", errno);
    return bytes;
  }

  /// -1 where there is nothing.
  [[nodiscard]] Result<int> open(const fs::path& file) const {
    if (!believes_nobody_) return storage::open_private_file(file, trust_);
    const int opened = system::open_file(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0 && errno != ENOENT) return failed(file, "opening", errno);
    return opened;
  }

  const fs::path objects_;
  const fs::path requests_;
  const bool believes_nobody_;
  storage::Trust trust_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_file_store(const fs::path& folder,
                                                     const FileStoreOptions& options) {
  std::error_code error;
  const auto absolute = fs::absolute(folder, error).lexically_normal();
  auto store = std::make_unique<FileStore>(absolute / folder_of_stores, options);
  if (options.create) {
    if (auto made = make_folder(absolute); !made) return tl::unexpected(made.error());
    if (auto made = store->make(); !made) return tl::unexpected(made.error());
  } else if (!fs::is_directory(absolute / folder_of_stores, error)) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no store in '{}'; kiln push makes one", absolute.string()));
  }
  return store;
}

}  // namespace kiln
