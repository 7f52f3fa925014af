#pragma once

#include <string>
#include <vector>

namespace kiln {

/// The architectures whose cubins a device of this compute capability runs, best first: its own `a`
/// target, the `f` targets of its family that are not above it, then the plain ones of its major
/// that are not above it. Some of the names belong to no architecture that was ever made.
[[nodiscard]] std::vector<std::string> runnable_archs(int major, int minor);

/// The architectures whose PTX a driver may compile for a device of this compute capability, best first:
/// as above its own `a` target and its family's, and then the plain ones not above it, of all majors, the
/// newest first. Each is spelled both ways in which PTX can be asked for, `compute_90` and `sm_90`.
[[nodiscard]] std::vector<std::string> runnable_ptx(int major, int minor);

/// What to compile for a device when nothing that it runs is there: its `a` target where it has
/// one.
[[nodiscard]] std::string compile_target(int major, int minor);

}  // namespace kiln
