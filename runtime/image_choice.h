#pragma once

#include <string>
#include <vector>

namespace kiln {

/// The architectures whose cubins a device of this compute capability runs, best first: its own `a`
/// target, the `f` targets of its family that are not above it, then the plain ones of its major
/// that are not above it. Some of the names belong to no architecture that was ever made.
[[nodiscard]] std::vector<std::string> runnable_archs(int major, int minor);

/// What to compile for a device when nothing that it runs is there: its `a` target where it has
/// one.
[[nodiscard]] std::string compile_target(int major, int minor);

}  // namespace kiln
