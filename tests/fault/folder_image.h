#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace kiln::test {

/// The bytes of each file in a folder, by name.
using FolderImage = std::map<std::string, std::string>;

[[nodiscard]] FolderImage load_folder(const std::filesystem::path& folder);

/// Makes the folder hold these files, 0600, and nothing else.
void store_folder(const FolderImage& image, const std::filesystem::path& folder);

}  // namespace kiln::test
