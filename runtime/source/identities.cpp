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

// Also if one goes a roundabout way, such as `a/../x.h`: the same files lie beside both.
bool are_one_path(std::string_view left, std::string_view right) {
  return name_of(left) == name_of(right) && are_one_folder(left, right);
}

bool are_one_file(const FoundHeader& left, const FoundHeader& right) {
  return left.embedded == right.embedded && left.stamp.inode == right.stamp.inode &&
         left.stamp.device == right.stamp.device;
}

std::size_t hash_of(const FoundHeader& found) {
  const auto file = found.stamp.inode + found.stamp.device * 0x9e3779b97f4a7c15u +
                    reinterpret_cast<std::uintptr_t>(found.embedded);
  return (file * std::uint64_t{0xff51afd7ed558ccdu}) >> 32;
}

}  // namespace

Identities::Identities(std::size_t look_ups) : first_(std::bit_ceil(2 * look_ups + 1)) {}

// The place of the file's first path, which is empty if the file is new.
Identities::Path& Identities::first_of(const FoundHeader& found) {
  for (auto slot = hash_of(found);; ++slot) {
    auto& path = first_[slot & (first_.size() - 1)];
    if (path.found == nullptr || are_one_file(*path.found, found)) return path;
  }
}

Same Identities::add(const FoundHeader& found, Dependency::Reach reach) {
  const auto lookup = count_++;
  if (!found.found() || reach == Dependency::Reach::presence) return {};
  auto& first = first_of(found);
  if (first.found == nullptr) {
    first = {&found, lookup};
    return {};
  }
  Same same{.file = first.lookup};
  const auto first_that = [&](const auto& is_it) {
    if (is_it(*first.found)) return first.lookup;
    for (const auto& path : others_) {
      if (are_one_file(*path.found, found) && is_it(*path.found)) return path.lookup;
    }
    return Dependency::no_other;
  };
  same.path = first_that([&](const FoundHeader& path) { return path.place() == found.place(); });
  if (same.path != Dependency::no_other) return same;
  same.path = first_that(
      [&](const FoundHeader& path) { return are_one_path(path.place(), found.place()); });
  others_.push_back({&found, same.path != Dependency::no_other ? same.path : lookup});
  return same;
}

}  // namespace kiln
