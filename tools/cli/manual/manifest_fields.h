#pragma once

#include <span>
#include <string_view>

namespace kiln::cli {

/// A field of a manifest, in a sentence.
struct ManifestField {
  std::string_view name;
  std::string_view what;
};

/// Those of the manifest, of a program in it, and of a program's variant, in the order in which a person writes them. What only
/// records have comes last.
[[nodiscard]] std::span<const ManifestField> manifest_fields() noexcept;
[[nodiscard]] std::span<const ManifestField> program_fields() noexcept;
[[nodiscard]] std::span<const ManifestField> variant_fields() noexcept;

}  // namespace kiln::cli
