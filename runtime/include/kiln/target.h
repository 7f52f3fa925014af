#pragma once

// kiln/target.h: what a program is compiled for: an architecture and an image kind.
//
//     const kiln::Target cubin = "sm_90a";
//     const auto asked_for = kiln::Target::parse(argument).value();
//     const auto ptx = kiln::Target::parse("compute_90", kiln::ImageKind::ptx).value();
//     const auto here = kiln::Target::parse("native").value();  // the device of the calling thread

#include <string>
#include <string_view>

#include "kiln/error.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// What a compile gives.
enum class ImageKind {
  cubin,  ///< Machine code for one architecture; the default.
  ptx,    ///< Text for this architecture and later ones; the driver compiles it when it is loaded.
  ltoir,  ///< NVVM bitcode for a later link.
  optixir,  ///< Input of OptiX.
  fatbin,  ///< Cubins and PTX for several architectures in one, of which the driver takes the best.
};

/// "cubin", "ptx", "ltoir", "optixir" or "fatbin". Static lifetime.
[[nodiscard]] const char* to_string(ImageKind kind) noexcept;

/// The inverse of to_string(). Errors: invalid_argument, listing the known kinds.
[[nodiscard]] Result<ImageKind> parse_image_kind(std::string_view text);

/// An architecture and an image kind. A value.
class Target {
 public:
  /// The cubin for an architecture that is written in the program: runtime.compile(program, "sm_90a"). For one that comes from
  /// elsewhere use parse(). Throws what parse(arch).value() throws.
  Target(const char* arch);  // NOLINT(google-explicit-constructor)

  /// Reads "sm_90a", "sm_100f", "compute_90" or "native" (the current device, resolved when used). Checks
  /// only that it is spelled like an architecture: whether there is one is for the compiler to say.
  /// Errors: unknown_arch, listing known ones; invalid_argument for a cubin of a `compute_` one.
  [[nodiscard]] static Result<Target> parse(std::string_view arch,
                                            ImageKind kind = ImageKind::cubin);

  [[nodiscard]] const std::string& arch() const noexcept { return arch_; }
  [[nodiscard]] ImageKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_native() const noexcept { return arch_ == "native"; }

  bool operator==(const Target&) const = default;

 private:
  Target(std::string arch, ImageKind kind) : arch_(std::move(arch)), kind_(kind) {}
  std::string arch_;
  ImageKind kind_;
};

}  // namespace kiln
