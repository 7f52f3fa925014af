#pragma once

// kiln/resources.h: what kernels take of a GPU, told by their images. Needs no GPU.
//
//     const auto code = kiln::kernel_code(artifact);
//     for (std::size_t i = 0; i < code.size(); ++i)
//       if (code[i].spills && code[i].spills->store_bytes > 0)
//         std::printf("%s spills\n", artifact.kernels[i].expression.c_str());

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// One for each of the artifact's kernels, in their order. Only cubins tell; of PTX, LTO-IR, OptiX-IR and
/// fatbins nothing is known. Reads the image anew each time.
[[nodiscard]] std::vector<KernelCode> kernel_code(const Artifact& artifact);

/// What a kernel takes at one place.
enum class ParameterKind : std::uint8_t {
  unknown,   ///< Its symbol tells no types, as of `extern "C"`.
  integer,   ///< Or bool, or a character.
  floating,  ///< float or double.
  pointer,   ///< To anything but a function.
  other,     ///< A type with a name of its own: a structure (`__half` is one), an enumeration.
};

/// "unknown", "integer", "floating", "pointer" or "other". Static lifetime.
[[nodiscard]] const char* to_string(ParameterKind kind) noexcept;

/// One for each of the kernel's params, in their order, as far as its mangled name tells.
[[nodiscard]] std::vector<ParameterKind> parameter_kinds(const KernelInfo& kernel);

/// How full a multiprocessor gets.
struct Occupancy {
  std::uint32_t blocks =
      0;  ///< That one multiprocessor holds at one time; 0 for a block that cannot run.
  std::uint32_t warps = 0;      ///< Of these blocks.
  std::uint32_t max_warps = 0;  ///< That one multiprocessor could hold.

  /// From 0 to 1.
  [[nodiscard]] double share() const noexcept { return static_cast<double>(warps) / max_warps; }

  bool operator==(const Occupancy&) const = default;
};

/// The occupancy that a kernel reaches on the GPUs of an architecture, such as "sm_90a", with blocks of so many
/// threads and no dynamic shared memory: what the driver's own calculator gives for a device that leaves as
/// much room as it can to shared memory. It minds neither launch bounds nor a kernel's barriers. Nothing where kiln does not know the architecture (it knows compute
/// capability 7.0 to 12.1), or not what the kernel takes. REQUIRES: threads > 0.
[[nodiscard]] std::optional<Occupancy> occupancy(std::string_view arch, const KernelInfo& kernel,
                                                 std::uint32_t threads);

}  // namespace kiln
