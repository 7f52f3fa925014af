#pragma once

// kiln/artifact.h: what a compile gives: the image, the lowered names, facts about each kernel.
//
//     const kiln::KernelInfo* scale = artifact.find("scale<float>");
//     if (scale != nullptr) std::printf("%s: %u registers\n", scale->symbol.c_str(), scale->registers);
//     std::fwrite(artifact.image.data(), 1, artifact.image.size(), file);

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/bytes.h"
#include "kiln/digest.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// The spelling under which kiln lists a name expression: `scale<float, 4>` for `scale< float,4 >`. Spaces beside names,
/// numbers, commas and brackets do not matter; between two operators one stays where there is one (`- -1`, `> >`).
/// Literals stay as they are; so does the whole of a text with a comment, or with a literal that is raw or not closed.
[[nodiscard]] std::string canonical_expression(std::string_view expression);

/// One parameter of a kernel, as the image's own metadata gives it. Bytes.
struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;

  bool operator==(const Parameter&) const = default;
};

/// What is known of one kernel without loading it.
struct KernelInfo {
  std::string expression = {};  ///< The C++ name expression, as canonical_expression() spells it.
  std::string symbol = {};      ///< The lowered (mangled) name in the image.
  std::uint32_t registers = 0;  ///< Per thread.
  std::uint32_t shared_bytes = 0;  ///< Static shared memory per block.
  std::uint32_t local_bytes = 0;   ///< Local memory (stack and spills) per thread.
  bool params_known = false;       ///< False for images that do not tell (PTX, LTO-IR, OptiX-IR).
  std::vector<Parameter> params = {};  ///< In position order.

  bool operator==(const KernelInfo&) const = default;
};

/// Registers that did not suffice: what a kernel's own instructions move to local memory and back, each counted
/// once, as `ptxas -v` counts them. Functions that the kernel calls are not counted. Bytes per thread.
struct Spills {
  std::uint64_t store_bytes = 0;
  std::uint64_t load_bytes = 0;

  bool operator==(const Spills&) const = default;
};

/// A kernel's machine code, as far as the image tells.
struct KernelCode {
  /// The size of the code, with the functions that the kernel calls and that lie in its section. Bytes.
  std::optional<std::uint64_t> bytes = {};
  /// Told by what ptxas of CUDA 12.6 and later makes, and by an older kernel without a stack, which has none.
  std::optional<Spills> spills = {};
  /// The largest block that it may be launched with, or the only one: `__launch_bounds__`, `__block_size__`. Nothing where
  /// it sets no bound.
  std::optional<std::uint64_t> max_threads = {};

  bool operator==(const KernelCode&) const = default;
};

/// All that is known of one kernel without loading it.
struct ListedKernel {
  KernelInfo info;
  KernelCode code;

  bool operator==(const ListedKernel&) const = default;
};

/// Where an artifact came from this time.
enum class Origin { compiled, memory, local, bundle, remote };

/// "compiled", "memory", "local", "bundle" or "remote". Static lifetime.
[[nodiscard]] const char* to_string(Origin origin) noexcept;

/// A compiled program for one target: a value that owns all it holds. Its copies share the image.
struct Artifact {
  Digest key = {};
  std::string program = {};  ///< The program's name.
  std::string arch = {};     ///< As asked for, e.g. "sm_90a".
  std::string kind = {};     ///< The image kind: "cubin", "ptx", "ltoir", "optixir", "fatbin".
  Bytes image = {};          ///< The image's bytes, shared by the artifact's copies.
  std::vector<KernelInfo> kernels = {};  ///< In the sorted order of their expressions.
  std::string log = {};          ///< The compiler's warnings; empty when it had nothing to say.
  std::string toolchain = {};    ///< For people, e.g. "NVRTC 13.0".
  std::uint64_t compile_us = 0;  ///< What the compile took when it was made. Microseconds.
  Origin origin = Origin::compiled;
  /// Of the source text, where the request has but a word for it; else empty().
  Digest source_text = {};
  /// Why the cache does not keep it, in words, so that the next one to ask has to compile it again; empty where the
  /// cache keeps it. Only an artifact that was compiled just now says so; nobody stores this.
  std::string not_kept = {};

  /// The kernel of this expression, whatever its spaces, or nullptr. Valid as long as the artifact.
  [[nodiscard]] const KernelInfo* find(std::string_view expression) const;
};

}  // namespace kiln
