#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/error.h"
#include "kiln/resources.h"
#include "kiln/settings.h"
#include "words.h"

namespace kiln::cli {

/// Keeps its members in the order in which they were added, so that output can be read and compared.
using Json = nlohmann::ordered_json;

/// The version of all documents, their first member. What a script may rely on stays as long as this does; members are added.
inline constexpr int json_schema = 1;

/// The line of a document with these members, of which there is at least one.
[[nodiscard]] std::string document_text(const Json& members);

/// Prints one document on one line of standard output, at once.
void print_json(const Json& members);

/// With `--json` the document, else the text for people, which `--quiet` leaves out.
void print_report(const Globals& globals, const Json& document, std::string_view text);

/// Numbers that the image does not tell (PTX, LTO-IR, OptiX-IR) are null.
[[nodiscard]] Json kernel_json(const KernelInfo& kernel, const KernelCode& code);

/// Each kernel of an artifact.
[[nodiscard]] Json kernels_json(const Artifact& artifact);

/// One line of `compile`.
[[nodiscard]] Json artifact_json(const Artifact& artifact);

/// One line of `ls`.
[[nodiscard]] Json summary_json(const EntrySummary& entry);

/// One line of `config`, and a member of `doctor`'s.
[[nodiscard]] Json setting_json(const Setting& setting);

/// What a removal reports.
[[nodiscard]] Json removed_json(const GcReport& report, bool dry_run);

[[nodiscard]] Json error_json(const Error& error);

}  // namespace kiln::cli
