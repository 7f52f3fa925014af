#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/sqlite.h"
#include "kiln/artifact.h"
#include "record/frame.h"

namespace kiln::storage {

// Each entry's kernels stand a second time beside the entries, in the table `kernels`: whoever lists them need not
// decompress all images. Nothing depends on it. A file that an earlier kiln made has no such table until the first put,
// and an earlier kiln that removes an entry leaves its kernels; so they go by the entry's key and not by its id, which is
// given to another entry. What else may have its name is left alone, and the file then has no such table.
//
// They give false or nothing where SQLite refused something.

/// Makes the table where it can. Runs inside the caller's transaction, as the others that write do.
[[nodiscard]] bool write_kernels(Connection& connection, const Digest& key, std::string_view frame);

[[nodiscard]] bool remove_kernels(Connection& connection, const Digest& key);

/// Removes the kernels of entries that are gone.
[[nodiscard]] bool remove_kernels_of_none(Connection& connection);

/// The frame of an entry's kernels; empty where there is none.
[[nodiscard]] std::optional<std::string> read_kernels(Connection& connection, const Digest& key);

/// What the frame says; nothing for a damaged one.
[[nodiscard]] std::optional<std::vector<ListedKernel>> kernels_of(std::string_view frame,
                                                                  const Digest& key);

[[nodiscard]] FrameOwner kernels_owner(const Digest& key) noexcept;

}  // namespace kiln::storage
