#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "record/image_memory.h"

namespace kiln::storage {

/// The record of what only the compile could tell: image, kernels, log, toolchain. The entry's request holds what
/// the caller asked for (program, architecture, kind), and the record does not repeat it.
[[nodiscard]] std::string encode_artifact(const Artifact& artifact);

/// The inverse; nothing for anything else. Fills only what the record holds. The record's memory becomes the image's.
[[nodiscard]] std::optional<Artifact> decode_artifact(ImageBuffer record);

/// The record of an entry's kernels alone, which is listed without the artifact.
[[nodiscard]] std::string encode_kernels(const std::vector<ListedKernel>& kernels);

/// The inverse; nothing for anything else.
[[nodiscard]] std::optional<std::vector<ListedKernel>> decode_kernels(std::string_view record);

}  // namespace kiln::storage
