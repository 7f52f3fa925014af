#include "power_loss_vfs.h"

#include <algorithm>
#include <utility>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sector_bytes = 512;

bool changes_the_disk(Call call) noexcept {
  return call == Call::open || call == Call::remove || call == Call::write ||
         call == Call::truncate || call == Call::sync;
}

/// Makes room up to `size`; what nobody wrote there is zero or what the disk held before.
void grow(std::string& bytes, std::size_t size, std::mt19937& generator) {
  if (size <= bytes.size()) return;
  const std::size_t old_size = bytes.size();
  bytes.resize(size);
  if (generator() % 2 == 0) return;
  for (std::size_t i = old_size; i < size; ++i) bytes[i] = static_cast<char>(generator());
}

}  // namespace

PowerLossVfs::PowerLossVfs(const fs::path& folder) : folder_(folder) {
  for (auto& [name, bytes] : load_folder(folder)) {
    auto inode = std::make_shared<Inode>();
    inode->durable = std::move(bytes);
    names_[name] = std::move(inode);
  }
  durable_names_ = names_;
}

int PowerLossVfs::intercept(const Operation& operation) {
  if (off_) return SQLITE_IOERR;
  if (!changes_the_disk(operation.call) || !operation.path) return SQLITE_OK;
  const bool cut = condition_ && condition_(operation, changes_);
  ++changes_;
  // A sync that the power does not outlast has synced nothing; anything else may have happened.
  if (!cut || operation.call != Call::sync) record(operation);
  off_ = cut;
  return cut ? SQLITE_IOERR : SQLITE_OK;
}

void PowerLossVfs::record(const Operation& operation) {
  const std::string name = fs::path(operation.path).filename();
  if (operation.call == Call::open) return record_open(name, operation.flags);
  if (operation.call == Call::remove) {
    names_.erase(name);
    unsynced_names_.push_back({name, nullptr});
    if (operation.flags != 0) sync_directory();
    return;
  }
  Inode& inode = *names_.at(name);
  if (operation.call == Call::sync) return sync(inode);
  inode.unsynced.push_back({.truncation = operation.call == Call::truncate,
                            .offset = static_cast<std::size_t>(operation.offset),
                            .bytes = std::string(operation.bytes)});
}

/// A file that is not known yet is being made here, or was just made empty by kiln itself.
void PowerLossVfs::record_open(const std::string& name, int flags) {
  const bool makes = (flags & SQLITE_OPEN_CREATE) != 0;
  if (names_.contains(name) || (!makes && !fs::exists(folder_ / name))) return;
  auto inode = std::make_shared<Inode>();
  inode->syncs_directory = makes && (flags & SQLITE_OPEN_MAIN_JOURNAL) != 0;
  names_[name] = inode;
  unsynced_names_.push_back({name, std::move(inode)});
}

void PowerLossVfs::sync(Inode& inode) {
  for (const Change& change : inode.unsynced) apply(change, inode.durable);
  inode.unsynced.clear();
  if (std::exchange(inode.syncs_directory, false)) sync_directory();
}

void PowerLossVfs::sync_directory() {
  durable_names_ = names_;
  unsynced_names_.clear();
}

void PowerLossVfs::apply(const Change& change, std::string& bytes) {
  if (change.truncation) return bytes.resize(change.offset);
  bytes.resize(std::max(bytes.size(), change.offset + change.bytes.size()));
  bytes.replace(change.offset, change.bytes.size(), change.bytes);
}

void PowerLossVfs::apply_torn(const Change& change, std::string& bytes, std::mt19937& generator) {
  std::size_t done = 0;
  while (done < change.bytes.size()) {
    const std::size_t offset = change.offset + done;
    const std::size_t size =
        std::min(sector_bytes - offset % sector_bytes, change.bytes.size() - done);
    if (generator() % 2 == 0) {
      grow(bytes, offset + size, generator);
      bytes.replace(offset, size, change.bytes, done, size);
    }
    done += size;
  }
}

std::string PowerLossVfs::survivor(const Inode& inode, std::mt19937& generator) {
  std::string bytes = inode.durable;
  for (const Change& change : inode.unsynced) {
    const unsigned fate = generator() % 3;
    if (fate == 0) continue;
    if (fate == 1 && !change.truncation) {
      apply_torn(change, bytes, generator);
      continue;
    }
    if (!change.truncation) grow(bytes, change.offset, generator);
    apply(change, bytes);
  }
  return bytes;
}

FolderImage PowerLossVfs::after_power_loss(unsigned seed) const {
  std::mt19937 generator(seed);
  Names names = durable_names_;
  for (const NameChange& change : unsynced_names_) {
    if (generator() % 2 == 0) continue;
    if (change.inode) {
      names[change.name] = change.inode;
    } else {
      names.erase(change.name);
    }
  }
  FolderImage image;
  for (const auto& [name, inode] : names) image[name] = survivor(*inode, generator);
  return image;
}

}  // namespace kiln::test
