#pragma once

#include <cstddef>
#include <span>

#include "kiln/args.h"
#include "kiln/launch.h"

namespace kiln {

/// What the launch sees of an Args beyond its public face.
struct ArgsAccess {
  /// Its arguments as a launch takes them, valid until it changes. `pointers` has room for one pointer
  /// for each that fits.
  [[nodiscard]] static detail::GivenArgs given(const Args& args,
                                               std::span<void*> pointers) noexcept;
  [[nodiscard]] static std::size_t refused(const Args& args) noexcept { return args.refused_; }
  [[nodiscard]] static const ArgType& type(const Args& args, std::size_t position) noexcept {
    return *args.types()[position];
  }
};

/// What kiln's own functions see of a Kernel beyond its public face.
struct KernelAccess {
  [[nodiscard]] static const KernelRecord& record(const Kernel& kernel) noexcept {
    return *kernel.record_;
  }
};

}  // namespace kiln
