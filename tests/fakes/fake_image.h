#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "image/cubin.h"
#include "program/architecture.h"

namespace fake {

/// An image as the driver gets it: a cubin, or PTX text.
struct Image {
  kiln::Architecture architecture = {};  ///< A cubin for a family counts as a plain one.
  bool is_ptx = false;
  std::vector<kiln::KernelInfo> kernels = {};
  std::map<std::string, std::size_t> variables =
      {};  ///< By their symbols: bytes. Of a cubin alone.
};

/// A cubin or PTX, or all those in a fatbin that is not compressed, the best first. The driver's interface
/// gives no size: their own tables tell it, and a text ends with a NUL. None for what is nothing of this.
[[nodiscard]] std::vector<Image> read_images(const void* code);

/// The driver's rule. A cubin: the same major, no newer minor; PTX: no newer architecture; of an `a` target
/// its own device alone, of PTX for a family the same major.
[[nodiscard]] bool runs_on(const Image& image, int device);

}  // namespace fake
