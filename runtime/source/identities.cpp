#include "source/identities.h"

#include <sys/stat.h>

#include <bit>
#include <cstdint>
#include <string>

namespace kiln {

namespace {

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool are_one_folder(std::string_view left, std::string_view right) {
  const auto look = [](std::string_view path, struct stat& status) {
    return ::stat(std::string(path.substr(0, path.rfind('/') + 1)).c_str(), &status) == 0;
  };
  struct stat one {};
  struct stat other {};
  return look(left, one) && look(right, other) && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// By a roundabout way, such as `a/../x.h`: what lies beside them is the same.
bool are_one_path(std::string_view left, std::string_view right) {
  return name_of(left) == name_of(right) && are_one_folder(left, right);
}

}  // namespace

Identities::Identities(std::size_t look_ups) : first_(std::bit_ceil(2 * look_ups + 1)) {}

// Its place, which is empty where it is new.
Identities::Path& Identities::first_of(const File& file) {
  const auto hash =
      (file.inode + file.device * 0x9e3779b97f4a7c15u) * std::uint64_t{0xff51afd7ed558ccdu};
  for (auto slot = hash >> 32;; ++slot) {
    auto& path = first_[slot & (first_.size() - 1)];
    if (path.lookup == Dependency::no_other || path.file == file) return path;
  }
}

Same Identities::add(const FoundHeader& found, Dependency::Reach reach) {
  const auto lookup = count_++;
  if (!found.found() || reach == Dependency::Reach::presence) return {};
  const bool embedded = found.embedded != nullptr;
  const File file{embedded ? 0 : found.stamp.device,
                  embedded ? reinterpret_cast<std::uintptr_t>(found.embedded) : found.stamp.inode};
  auto& first = first_of(file);
  if (first.lookup == Dependency::no_other) {
    first = {file, found.place(), lookup};
    return {};
  }
  Same same{.file = first.lookup};
  const auto find = [&](const auto& is_it) {
    if (is_it(first)) same.path = first.lookup;
    for (const auto& path : others_) {
      if (same.path == Dependency::no_other && path.file == file && is_it(path))
        same.path = path.lookup;
    }
    return same.path != Dependency::no_other;
  };
  if (find([&](const Path& path) { return path.place == found.place(); })) return same;
  const bool roundabout =
      find([&](const Path& path) { return are_one_path(path.place, found.place()); });
  others_.push_back({file, found.place(), roundabout ? same.path : lookup});
  return same;
}

}  // namespace kiln
