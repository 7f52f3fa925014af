#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "folder_image.h"
#include "vfs_shim.h"

namespace kiln::test {

/// A disk that keeps a journal of what is not synced yet, so that a loss of power can be played.
///
/// Of a file's writes and truncations since its last sync each may have been kept, dropped or torn
/// at 512-byte sectors, in any subset; room that was gained but not written holds zeros or
/// whatever lay there. Of the creations and removals since the directory's last sync each may have
/// happened or not. What SQLite's unix VFS syncs is what counts: the directory with a new journal's
/// first sync, and where a removal asks for it.
class PowerLossVfs : public VfsShim {
 public:
  /// All that is in `folder` now is on the disk.
  explicit PowerLossVfs(const std::filesystem::path& folder);

  /// The power goes with the first change of the disk for which this is true, while that one is under
  /// way. `number` counts the changes from 0. Afterwards every call fails.
  void cut_when(std::function<bool(const Operation&, std::size_t number)> condition) {
    condition_ = std::move(condition);
  }
  void cut() noexcept { off_ = true; }

  [[nodiscard]] bool off() const noexcept { return off_; }
  /// How often the disk was changed or synced.
  [[nodiscard]] std::size_t changes() const noexcept { return changes_; }

  /// What the folder may hold when the power is back.
  [[nodiscard]] FolderImage after_power_loss(unsigned seed) const;

  int intercept(const Operation& operation) override;

 private:
  struct Change {
    bool truncation;
    std::size_t offset;  ///< Or the new size.
    std::string bytes;
  };
  struct Inode {
    std::string durable;
    std::vector<Change> unsynced;
    bool syncs_directory = false;
  };
  struct NameChange {
    std::string name;
    std::shared_ptr<Inode> inode;  ///< Null for a removal.
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  void record(const Operation& operation);
  void record_open(const std::string& name, int flags);
  void sync(Inode& inode);
  void sync_directory();
  static void apply(const Change& change, std::string& bytes);
  static void apply_torn(const Change& change, std::string& bytes, std::mt19937& generator);
  static std::string survivor(const Inode& inode, std::mt19937& generator);

  const std::filesystem::path folder_;
  Names names_;
  Names durable_names_;
  std::vector<NameChange> unsynced_names_;
  std::function<bool(const Operation&, std::size_t)> condition_;
  std::size_t changes_ = 0;
  bool off_ = false;
};

}  // namespace kiln::test
