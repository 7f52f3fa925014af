#pragma once

#include <string>
#include <vector>

namespace kiln {

/// The architectures whose cubins a device of this compute capability runs, best first: its own `a`
/// target, the `f` targets of its family that are not above it, then the plain ones of its major
/// that are not above it. Some of the names belong to no architecture that exists.
[[nodiscard]] std::vector<std::string> runnable_archs(int major, int minor);

/// The architectures whose PTX a driver may compile for a device of this compute capability, best first: its own `a`
/// target and its family's as above, then the plain ones of all majors that are not above it, the newest first. Each is
/// given in both spellings of a PTX target, `compute_90` and `sm_90`.
[[nodiscard]] std::vector<std::string> runnable_ptx(int major, int minor);

/// The target to compile for a device if no image that it runs is stored: its `a` target if it has one.
[[nodiscard]] std::string compile_target(int major, int minor);

}  // namespace kiln
