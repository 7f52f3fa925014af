#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/program.h"
#include "kiln/runtime.h"

namespace demo {

using Architectures = std::vector<std::string>;

/// An image as a process got it.
struct Image {
  kiln::Artifact artifact;
  double microseconds;  ///< What asking for it took.

  /// Whether a cache or a bundle had it.
  [[nodiscard]] bool served() const;
};

/// decoder_block(), and decoder_programs(), as programs.
[[nodiscard]] std::vector<kiln::Program> block_programs();
[[nodiscard]] std::vector<kiln::Program> text_programs();

/// Asks for every program of the block for every architecture. Tells `before` of each how many there are, and which
/// is next. Errors: those of Runtime::compile(), as exceptions.
using BeforeImage = std::function<void(std::size_t done, std::size_t all, const kiln::Program& next,
                                       const std::string& arch)>;
[[nodiscard]] std::vector<Image> ask_for_all(kiln::Runtime& runtime,
                                             const Architectures& architectures,
                                             const BeforeImage& before = {});

/// How many of them a cache would serve. Compiles none.
[[nodiscard]] std::size_t count_stored(kiln::Runtime& runtime, const Architectures& architectures);

/// How many kernels these images hold.
[[nodiscard]] std::size_t kernel_count(const std::vector<Image>& images);

}  // namespace demo
