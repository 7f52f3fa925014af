#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kiln/args.h"
#include "kiln/launch.h"

namespace kiln {

/// What the launch sees of an Args beyond its public face.
struct ArgsAccess {
  /// Its arguments as a launch takes them, valid until it changes. `pointers` has room for one pointer
  /// for each that fits.
  [[nodiscard]] static detail::GivenArgs given(const Args& args,
                                               std::span<void*> pointers) noexcept;

  /// Calls `use` with given(), and with room for the pointers that lasts as long as the call. By reference: a copy would
  /// cost as much as the launch.
  template <class Use>
  static Outcome with_given(const Args& args, const Use& use) {
    if (args.size() <= Args::inline_count) {
      std::array<void*, Args::inline_count> pointers;
      auto arguments = given(args, pointers);
      return use(arguments);
    }
    std::vector<void*> pointers(args.size());
    auto arguments = given(args, pointers);
    return use(arguments);
  }

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
