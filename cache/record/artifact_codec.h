#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kiln/artifact.h"

namespace kiln::storage {

/// The record of what only the compile could tell: image, kernels, log, toolchain, time. What was
/// asked for (program, architecture, kind) stands in the entry's request and is not repeated here.
[[nodiscard]] std::string encode_artifact(const Artifact& artifact);

/// The inverse; nothing for anything else. Fills only what the record holds; its memory becomes the image's.
[[nodiscard]] std::optional<Artifact> decode_artifact(std::string record);

}  // namespace kiln::storage
