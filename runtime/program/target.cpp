#include "kiln/target.h"

#include <array>

#include <fmt/format.h>

#include "program/architecture.h"

namespace kiln {

namespace {

// For messages only. The compiler decides which exist (nvrtcGetSupportedArchs), so newer ones are passed on. From
// CUDA 13.0's list of GPU features.
constexpr std::string_view known_archs =
    "sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_100f, sm_103, "
    "sm_103a, "
    "sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f";

constexpr std::array kinds{ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir, ImageKind::optixir,
                           ImageKind::fatbin};

}  // namespace

const char* to_string(ImageKind kind) noexcept {
  switch (kind) {
    case ImageKind::cubin:
      return "cubin";
    case ImageKind::ptx:
      return "ptx";
    case ImageKind::ltoir:
      return "ltoir";
    case ImageKind::optixir:
      return "optixir";
    case ImageKind::fatbin:
      return "fatbin";
  }
  return "?";
}

Result<ImageKind> parse_image_kind(std::string_view text) {
  for (const auto kind : kinds) {
    if (text == to_string(kind)) return kind;
  }
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("unknown image kind '{}': use cubin, ptx, ltoir, optixir or fatbin", text));
}

Target::Target(const char* arch) : Target(parse(arch).value()) {}

Result<Target> Target::parse(std::string_view arch, ImageKind kind) {
  const auto read = read_architecture(arch);
  if (!read && arch != "native") {
    return fail(ErrorCode::unknown_arch,
                fmt::format("unknown architecture '{}'. Known ones: {}; compute_NN for PTX; native",
                            arch, known_archs));
  }
  if (read && !read->real && kind == ImageKind::cubin) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' names no GPU, so there is no cubin for it: ask for ptx, or for sm_{}",
                    arch, arch.substr(8)));
  }
  return Target(std::string(arch), kind);
}

}  // namespace kiln
