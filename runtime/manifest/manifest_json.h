#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/manifest.h"

namespace kiln {

using Json = nlohmann::json;

/// The number in `kiln_manifest`.
inline constexpr int manifest_version = 1;

/// Whether values nest deeper than in any manifest: whoever walks through them needs some of its stack for each
/// level.
[[nodiscard]] bool nests_too_deep(std::string_view json) noexcept;

/// Reads the documents of a manifest: one, or one per line. A torn last line is left out.
/// Errors: invalid_argument, saying where the text is no JSON, or which member stands in it twice.
[[nodiscard]] Result<std::vector<Json>> read_documents(std::string_view text);

/// A text as a JSON value: a string, or where it is not UTF-8, {"hex": "…"}.
[[nodiscard]] Json text_json(const std::string& text);

/// The inverse of text_json(); nothing for anything else.
[[nodiscard]] std::optional<std::string> text_of(const Json& value);

/// A program as a record holds it: its source and its recorded headers by digest, for one target.
/// REQUIRES: one target, no headers and no directories of its own.
// NOLINTNEXTLINE(bugprone-exception-escape): Json's own, which ends the process for want of memory.
struct RecordLine {
  Json program;
  Digest digest;  ///< Of the program as it is written.
  std::vector<std::pair<Digest, std::shared_ptr<const std::string>>> texts;
};
[[nodiscard]] RecordLine record_line(const ListedProgram& listed);

/// One line of a record: a whole manifest, ended. Errors: invalid_argument for what JSON cannot hold.
[[nodiscard]] Result<std::string> line_text(const Json& program, Json texts);

}  // namespace kiln
