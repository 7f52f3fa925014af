#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "exchange/store_files.h"
#include "file/private_path.h"
#include "file/wall_clock.h"
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

/// As it lies in a store.
struct StoreFile {
  std::int64_t used = 0;  ///< Seconds since 1970.
  std::uint64_t size = 0;
  fs::path path;
};

std::optional<StoreFile> look_at(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return StoreFile{status.st_mtim.tv_sec, static_cast<std::uint64_t>(status.st_size), path};
}

class FileStore final : public ObjectStore {
 public:
  FileStore(const fs::path& folder, const FileStoreOptions& options)
      : objects_(folder / "objects"),
        requests_(folder / "requests"),
        believes_nobody_(!options.trusted_keys.empty()),
        trust_{.cache = options.trust, .owned_by_root = true} {
    // The rights of a group's cache are not those of a store.
    trust_.cache.group.reset();
  }

  [[nodiscard]] Result<void> make() const {
    for (const auto& folder : {objects_.parent_path(), objects_, requests_})
      if (auto made = storage::make_store_folder(folder); !made) return made;
    return {};
  }

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    return read(place_in(objects_, name), most_bytes);
  }

  Result<bool> put(const std::string& name, std::string_view bytes) override {
    return storage::write_store_file(place_in(objects_, name), bytes);
  }

  Result<std::vector<std::string>> hints(const Digest& request) override {
    const auto folder = place_in(requests_, request.hex());
    const auto names = storage::store_names_in(folder, digits_of_objects);
    if (!names) return names;
    std::vector<StoreFile> files;
    for (const auto& name : *names)
      if (auto file = look_at(folder / name)) files.push_back(std::move(*file));
    std::ranges::sort(files, [](const StoreFile& a, const StoreFile& b) {
      return std::pair(b.used, a.path.native()) < std::pair(a.used, b.path.native());
    });
    files.resize(std::min(files.size(), most_hints));
    std::vector<std::string> latest;
    for (const auto& file : files) latest.push_back(file.path.filename());
    return latest;
  }

  Result<std::optional<std::string>> hint(const Digest& request, const std::string& name) override {
    return read(place_in(requests_, request.hex()) / name, most_hint_bytes);
  }

  Result<void> add_hint(const Digest& request, const std::string& name,
                        std::string_view hint) override {
    const auto folder = place_in(requests_, request.hex());
    if (auto made = storage::make_store_folder(folder.parent_path()); !made) return made;
    auto written = storage::write_store_file(folder / name, hint);
    if (!written) return tl::unexpected(std::move(written.error()));
    return {};
  }

  Result<std::vector<Digest>> requests() override {
    auto folders = folders_of_requests();
    if (!folders) return tl::unexpected(std::move(folders.error()));
    std::vector<Digest> all;
    for (const auto& folder : *folders)
      if (const auto request = Digest::from_hex(folder.filename().native()))
        all.push_back(*request);
    std::ranges::sort(all);
    return all;
  }

  Result<GcReport> collect(const GcOptions& options) override {
    auto files = all_objects();
    if (!files) return tl::unexpected(std::move(files.error()));
    std::ranges::sort(*files, {}, &StoreFile::used);
    std::uint64_t left = 0;
    for (const auto& file : *files) left += file.size;
    const auto made_before =
        storage::seconds_since_1970() - options.older_than.value_or(std::chrono::seconds()).count();
    GcReport report;
    for (const auto& file : *files) {
      const bool too_old = options.older_than && file.used < made_before;
      const bool too_many = options.max_bytes && left > *options.max_bytes;
      if (!too_old && !too_many) break;
      if (!options.dry_run && ::unlink(file.path.c_str()) != 0 && errno != ENOENT)
        return storage::store_failure(file.path, "removing", errno);
      left -= file.size;
      ++report.entries;
      report.bytes += file.size;
    }
    if (!options.dry_run) {
      if (auto removed = remove_hints_of_none(); !removed)
        return tl::unexpected(std::move(removed.error()));
    }
    return report;
  }

 private:
  static fs::path place_in(const fs::path& folder, const std::string& name) {
    return folder / name.substr(0, digits_of_folders) / name;
  }

  [[nodiscard]] Result<std::vector<StoreFile>> all_objects() const {
    const auto folders = storage::store_names_in(objects_, digits_of_folders);
    if (!folders) return tl::unexpected(folders.error());
    std::vector<StoreFile> files;
    for (const auto& folder : *folders) {
      const auto names = storage::store_names_in(objects_ / folder, digits_of_objects);
      if (!names) return tl::unexpected(names.error());
      for (const auto& name : *names)
        if (auto file = look_at(objects_ / folder / name)) files.push_back(std::move(*file));
    }
    return files;
  }

  [[nodiscard]] Result<std::vector<fs::path>> folders_of_requests() const {
    const auto folders = storage::store_names_in(requests_, digits_of_folders);
    if (!folders) return tl::unexpected(folders.error());
    std::vector<fs::path> all;
    for (const auto& folder : *folders) {
      const auto names = storage::store_names_in(requests_ / folder, digits_of_requests);
      if (!names) return tl::unexpected(names.error());
      for (const auto& name : *names) all.push_back(requests_ / folder / name);
    }
    return all;
  }

  /// And what writers left behind. Folders stay: somebody may be about to write there.
  [[nodiscard]] Result<void> remove_hints_of_none() const {
    const auto folders = folders_of_requests();
    if (!folders) return tl::unexpected(folders.error());
    for (const auto& folder : *folders) {
      storage::remove_left_behind(folder);
      const auto names = storage::store_names_in(folder, digits_of_objects);
      if (!names) return tl::unexpected(names.error());
      for (const auto& name : *names)
        if (!look_at(place_in(objects_, name))) ::unlink((folder / name).c_str());
    }
    const auto of_objects = storage::store_names_in(objects_, digits_of_folders);
    if (!of_objects) return tl::unexpected(of_objects.error());
    for (const auto& folder : *of_objects) storage::remove_left_behind(objects_ / folder);
    return {};
  }

  [[nodiscard]] Result<std::optional<std::string>> read(const fs::path& file,
                                                        std::uint64_t most_bytes) const {
    const auto opened = open(file);
    if (!opened) return tl::unexpected(opened.error());
    const system::Descriptor descriptor(*opened);
    if (!descriptor) return std::optional<std::string>();
    struct stat status;
    if (::fstat(descriptor.get(), &status) != 0)
      return storage::store_failure(file, "reading", errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (!S_ISREG(status.st_mode) || size > most_bytes) {
      return fail(ErrorCode::too_large,
                  fmt::format("store: '{}' is no file of a store, or is larger than it can be",
                              file.string()));
    }
    auto bytes = system::read_whole(descriptor.get(), size);
    if (!bytes) return storage::store_failure(file, "reading", errno);
    storage::mark_store_file_used(descriptor.get());
    return bytes;
  }

  /// -1 where there is nothing.
  [[nodiscard]] Result<int> open(const fs::path& file) const {
    if (!believes_nobody_) return storage::open_private_file(file, trust_);
    const int opened = system::open_file(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0 && errno != ENOENT) return storage::store_failure(file, "opening", errno);
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
    if (auto made = storage::make_store_folder(absolute); !made)
      return tl::unexpected(std::move(made.error()));
    if (auto made = store->make(); !made) return tl::unexpected(std::move(made.error()));
  } else if (!fs::is_directory(absolute / folder_of_stores, error)) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no store in '{}'; kiln push makes one", absolute.string()));
  }
  return store;
}

}  // namespace kiln
