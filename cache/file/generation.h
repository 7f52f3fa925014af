#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kiln::storage {

// kiln leaves a database that is corrupt, or none of kiln's, where it is, and makes a new file in its place, the next
// generation: `kernels.v1.db`, `kernels.v1.g2.db`, `kernels.v1.g3.db`, … The file of the highest number is the current
// one. At most one older file is kept. Another schema has another name altogether.

/// The file name of a generation, counted from 1.
[[nodiscard]] std::string generation_name(unsigned generation);

/// The highest generation whose file is in this directory; 0 where there is none, or no directory.
[[nodiscard]] unsigned current_generation(const std::filesystem::path& directory);

/// The files of all generations before this one, the oldest first.
[[nodiscard]] std::vector<std::filesystem::path> generations_before(
    const std::filesystem::path& directory, unsigned generation);

/// Removes the files of all generations before this one. Processes that have one open keep it.
void remove_generations_before(const std::filesystem::path& directory, unsigned generation);

}  // namespace kiln::storage
