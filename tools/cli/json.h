#pragma once

#include <nlohmann/json.hpp>

#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/error.h"

namespace kiln::cli {

/// Keeps its members in the order in which they were added, so that output can be read and compared.
using Json = nlohmann::ordered_json;

/// Prints one document on one line of standard output, at once.
void print_json(const Json& document);

/// Numbers that the image does not tell (PTX, LTO-IR, OptiX-IR) are null.
[[nodiscard]] Json kernels_json(const std::vector<KernelInfo>& kernels);

/// One line of `compile`.
[[nodiscard]] Json artifact_json(const Artifact& artifact);

/// One line of `ls`.
[[nodiscard]] Json summary_json(const EntrySummary& entry);

[[nodiscard]] Json error_json(const Error& error);

}  // namespace kiln::cli
