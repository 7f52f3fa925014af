#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "exchange/store_folder.h"
#include "file/file_system.h"
#include "file/generation.h"
#include "file/wall_clock.h"
#include "kiln/exchange.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using storage::StoreFile;
using storage::StoreFolder;

constexpr const char* folder_of_stores = "kiln-store.v1";
constexpr std::size_t digits_of_objects = 64;
constexpr std::size_t digits_of_requests = 32;
/// Folders of very many files are slow: names are spread by their first digits.
constexpr std::size_t digits_of_folders = 2;

constexpr std::size_t most_requests = 1'000'000;
constexpr std::size_t most_hints_looked_at = 1000;
constexpr std::uint64_t most_hint_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t most_bytes_of_hints = std::uint64_t{16} << 20;

/// Of a server's clock: a kernel has 100 to 1,000 in a second.
constexpr std::chrono::milliseconds longest_tick{10};

std::string folder_name_of(const std::string& name) { return name.substr(0, digits_of_folders); }

class FileStore final : public ObjectStore {
 public:
  /// `listings_stay`: whether others may go on seeing a folder as it was.
  FileStore(std::string shown, StoreFolder root, StoreFolder objects, StoreFolder requests,
            bool listings_stay, const FileStoreOptions& options)
      : ObjectStore(options.trusted_keys),
        shown_(std::move(shown)),
        read_only_(options.read_only),
        listings_stay_(listings_stay),
        root_(std::move(root)),
        objects_(std::move(objects)),
        requests_(std::move(requests)),
        readers_{.of_anybody = !options.trusted_keys.empty(),
                 .trust = {.cache = options.trust, .owned_by_root = true},
                 .mark_used = !options.read_only} {
    // The rights of a group's cache are not those of a store.
    readers_.trust.cache.group.reset();
  }

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    const auto folder = objects_.folder(folder_name_of(name));
    if (!folder) return tl::unexpected(folder.error());
    if (!*folder) return std::optional<std::string>();
    return (*folder)->read(name, most_bytes, readers_);
  }

  Result<bool> put(const std::string& name, std::string_view bytes) override {
    if (read_only_) return refusal();
    const auto folder = objects_.make_folder(folder_name_of(name));
    if (!folder) return tl::unexpected(folder.error());
    return folder->write(name, bytes, readers_);
  }

  Result<std::vector<StoreHint>> hints(const Digest& request, std::size_t most) override {
    const auto folder = folder_of(request);
    if (!folder) return tl::unexpected(folder.error());
    if (!*folder) return std::vector<StoreHint>();
    auto files = (*folder)->files(digits_of_objects, most_hints_looked_at);
    if (!files) return tl::unexpected(std::move(files.error()));
    std::ranges::sort(*files, [](const auto& a, const auto& b) {
      return a.used != b.used ? a.used > b.used : a.name < b.name;
    });
    std::vector<StoreHint> hints;
    std::uint64_t left = most_bytes_of_hints;
    for (auto& file : *files) {
      if (hints.size() == most || left == 0) break;
      auto record = (*folder)->read(file.name, most_hint_bytes, readers_);
      if (!record) {
        hints.push_back({std::move(file.name), tl::unexpected(std::move(record.error()))});
      } else if (*record) {
        left -= std::min<std::uint64_t>(left, (*record)->size());
        hints.push_back({std::move(file.name), std::move(**record)});
      }
    }
    return hints;
  }

  Outcome add_hint(const Digest& request, const std::string& name, std::string_view hint) override {
    if (read_only_) return refusal();
    std::vector<const StoreFolder*> changed;
    const auto make = [&](const StoreFolder& parent, const std::string& folder) {
      if (listings_stay_) {
        const auto there = parent.folder(folder);
        if (there && !*there) changed.push_back(&parent);
      }
      return parent.make_folder(folder);
    };
    const auto outer = make(requests_, folder_name_of(request.hex()));
    if (!outer) return tl::unexpected(outer.error());
    const auto folder = make(*outer, request.hex());
    if (!folder) return tl::unexpected(folder.error());
    auto written = folder->write(name, hint, readers_);
    if (!written) return tl::unexpected(std::move(written.error()));
    if (*written) changed.push_back(&*folder);
    if (listings_stay_ && !changed.empty()) show_to_others(changed);
    return {};
  }

  Result<std::vector<Digest>> requests() override {
    std::vector<Digest> all;
    const auto add = [&](const StoreFolder&, const std::string& name) -> Outcome {
      if (const auto request = Digest::from_hex(name)) all.push_back(*request);
      return all.size() > most_requests ? too_many_requests() : Outcome();
    };
    if (auto listed = for_each_in(requests_, digits_of_requests, add); !listed)
      return tl::unexpected(std::move(listed.error()));
    std::ranges::sort(all);
    return all;
  }

  Result<GcReport> collect(const GcOptions& options) override {
    if (read_only_ && !options.dry_run) return refusal();
    auto objects = all_objects();
    if (!objects) return tl::unexpected(std::move(objects.error()));
    std::ranges::sort(*objects, {}, &StoreFile::used);
    std::uint64_t left = 0;
    for (const auto& object : *objects) left += object.size;
    const auto made_before =
        storage::seconds_since_1970() - options.older_than.value_or(std::chrono::seconds()).count();
    GcReport report;
    for (const auto& object : *objects) {
      const bool too_old = options.older_than && object.used < made_before;
      const bool too_many = options.max_bytes && left > *options.max_bytes;
      if (!too_old && !too_many) break;
      if (auto removed = options.dry_run ? Outcome() : remove(object.name); !removed)
        return tl::unexpected(std::move(removed.error()));
      left -= object.size;
      ++report.entries;
      report.bytes += object.size;
    }
    if (auto cleaned = options.dry_run ? Outcome() : remove_what_is_of_none(); !cleaned)
      return tl::unexpected(std::move(cleaned.error()));
    return report;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> refusal() const {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the store in '{}' is named read-only: leave that out to change it", shown_));
  }

  [[nodiscard]] tl::unexpected<Error> too_many_requests() const {
    return fail(ErrorCode::too_large,
                fmt::format("the store in '{}' has more than {} requests; pull what answers single "
                            "ones, or see what somebody has put into kiln-store.v1/requests there",
                            shown_, most_requests));
  }

  // NFS takes what it knows of a folder for current as long as the folder's time is the same. Of two changes within one tick whoever
  // looks between them sees the first alone, for up to a minute: so the folders change once more when the tick is over.
  static void show_to_others(const std::vector<const StoreFolder*>& folders) {
    std::this_thread::sleep_for(longest_tick + std::chrono::milliseconds(1));
    for (const auto* folder : folders) folder->change_again();
  }

  using InFolder = std::function<Outcome(const StoreFolder& folder, const std::string& name)>;

  /// Each name of so many digits that lies where it belongs.
  static Outcome for_each_in(const StoreFolder& folders, std::size_t digits,
                             const InFolder& visit) {
    return folders.for_each_name(digits_of_folders, [&](const std::string& outer) -> Outcome {
      const auto folder = folders.folder(outer);
      // What is no folder, such as a link, is none of a store's.
      if (!folder || !*folder) return {};
      return (*folder)->for_each_name(digits, [&](const std::string& name) {
        return folder_name_of(name) == outer ? visit(**folder, name) : Outcome();
      });
    });
  }

  [[nodiscard]] Result<std::vector<StoreFile>> all_objects() const {
    std::vector<StoreFile> objects;
    const auto add = [&](const StoreFolder& folder, const std::string& name) -> Outcome {
      if (auto object = folder.file(name)) objects.push_back(std::move(*object));
      return {};
    };
    if (auto listed = for_each_in(objects_, digits_of_objects, add); !listed)
      return tl::unexpected(std::move(listed.error()));
    return objects;
  }

  [[nodiscard]] Outcome remove(const std::string& name) const {
    const auto folder = objects_.folder(folder_name_of(name));
    if (!folder) return tl::unexpected(folder.error());
    return *folder ? (*folder)->remove_file(name) : Outcome();
  }

  [[nodiscard]] bool has_object(const std::string& name) const {
    const auto folder = objects_.folder(folder_name_of(name));
    return !folder || (*folder && (*folder)->file(name));
  }

  /// Hints of objects that are gone, what writers left behind, requests that nothing answers, and old leases. Folders stay for a day
  /// at least: somebody may be about to write there.
  [[nodiscard]] Outcome remove_what_is_of_none() const {
    for (const auto* folder : {&root_, &requests_, &objects_}) folder->remove_left_behind();
    const auto of_request = [&](const StoreFolder& outer, const std::string& name) -> Outcome {
      const auto folder = outer.folder(name);
      if (!folder || !*folder) return {};
      (*folder)->remove_left_behind();
      return (*folder)->for_each_name(digits_of_objects, [&](const std::string& hint) {
        return has_object(hint) ? Outcome() : (*folder)->remove_file(hint);
      });
    };
    if (auto cleaned = for_each_in(requests_, digits_of_requests, of_request); !cleaned)
      return cleaned;
    // Each lease is a folder with one of its holder's in it, where he writes again and again.
    constexpr int depth_of_leases = 2;
    if (const auto leases = root_.folder("leases"); leases && *leases) {
      (*leases)->remove_left_behind();
      in_each(**leases, [](const StoreFolder& folder) { folder.remove_old(depth_of_leases); });
    }
    in_each(requests_, [](const StoreFolder& folder) { folder.remove_old(0); });
    in_each(objects_, [](const StoreFolder& folder) { folder.remove_left_behind(); });
    return {};
  }

  /// What cannot be listed stays as it is.
  static void in_each(const StoreFolder& folders,
                      const std::function<void(const StoreFolder&)>& tidy) {
    static_cast<void>(
        folders.for_each_name(digits_of_folders, [&](const std::string& name) -> Outcome {
          const auto folder = folders.folder(name);
          if (folder && *folder) tidy(**folder);
          return {};
        }));
  }

  [[nodiscard]] Result<std::optional<StoreFolder>> folder_of(const Digest& request) const {
    auto outer = requests_.folder(folder_name_of(request.hex()));
    if (!outer || !*outer) return outer;
    return (*outer)->folder(request.hex());
  }

  const std::string shown_;
  const bool read_only_;
  const bool listings_stay_;
  const StoreFolder root_;
  const StoreFolder objects_;
  const StoreFolder requests_;
  storage::StoreReaders readers_;
};

tl::unexpected<Error> no_store(const fs::path& folder) {
  return fail(ErrorCode::not_found, fmt::format("there is no store in '{}'; {}", folder.string(),
                                                storage::current_generation(folder) == 0
                                                    ? "the first compile or kiln push makes one"
                                                    : "it is a cache, which kiln import takes in"));
}

tl::unexpected<Error> is_a_cache(const fs::path& folder) {
  return fail(ErrorCode::io_failed,
              fmt::format("'{}' is a cache, and no store is made in its folder; name another one, "
                          "such as '{}'",
                          folder.string(), (folder.parent_path() / "store").string()));
}

/// Made where it is to be and is not there; nothing where it is not.
Result<std::optional<StoreFolder>> open_folder(const StoreFolder& parent, const std::string& name,
                                               bool create) {
  if (!create) return parent.folder(name);
  auto made = parent.make_folder(name);
  if (!made) return tl::unexpected(std::move(made.error()));
  return std::optional(std::move(*made));
}

/// As `mkdir --parents`. Gives why that fails, as errno; 0 where it does not.
int make_for_this_user(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT || !folder.has_relative_path()) return errno;
  if (const int error = make_for_this_user(folder.parent_path())) return error;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/// The one that a person named. The one that it lies in is there, since what is to be mounted there may not be.
Result<std::optional<StoreFolder>> open_named(const fs::path& folder,
                                              const FileStoreOptions& options) {
  auto opened = StoreFolder::open(folder);
  if (!opened || *opened || (options.parents && !options.create)) return opened;
  if (const int error = options.parents ? make_for_this_user(folder.parent_path()) : 0) {
    return fail(ErrorCode::io_failed,
                fmt::format("the folder '{}' for a store in '{}' cannot be made: {}",
                            folder.parent_path().string(), folder.string(),
                            std::generic_category().message(error)));
  }
  const auto parent = StoreFolder::open(folder.parent_path());
  if (!parent) return tl::unexpected(parent.error());
  if (!*parent) {
    return fail(
        ErrorCode::io_failed,
        fmt::format("there is no folder '{}' for a store in '{}'; make it, or mount it, first",
                    folder.parent_path().string(), folder.string()));
  }
  return open_folder(**parent, folder.filename(), options.create);
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_file_store(const fs::path& folder,
                                                     const FileStoreOptions& options) {
  std::error_code error;
  auto place = fs::absolute(folder, error).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  auto named = open_named(place, options);
  if (!named) return tl::unexpected(std::move(named.error()));
  if (!*named) return no_store(place);
  auto root = (*named)->folder(folder_of_stores);
  if (root && !*root && options.create) {
    // On a network's filesystem the cache's own directory is the store, where nobody names another.
    const bool is_named = !options.parents;
    if (is_named && storage::current_generation(place) != 0) return is_a_cache(place);
    root = open_folder(**named, folder_of_stores, true);
  }
  if (!root) return tl::unexpected(std::move(root.error()));
  if (!*root) return no_store(place);
  auto objects = open_folder(**root, "objects", options.create);
  if (!objects) return tl::unexpected(std::move(objects.error()));
  auto requests = open_folder(**root, "requests", options.create);
  if (!requests) return tl::unexpected(std::move(requests.error()));
  if (!*objects || !*requests) return no_store(place);
  const bool listings_stay = storage::file_system_of(place).locks_may_be_local;
  return std::make_unique<FileStore>(place.string(), std::move(**root), std::move(**objects),
                                     std::move(**requests), listings_stay, options);
}

}  // namespace kiln
