#pragma once

// What compile_bench compiles, as manifests. Small ones show that the benchmark runs.

#include <string>

namespace kiln::bench {

/// 64 programs, each with one instantiation, that begin with one of four preludes of CUB.
[[nodiscard]] std::string cub_manifest(bool small);

/// The same with a radix sort in the place of one, whose kernels cost more behind their headers.
[[nodiscard]] std::string cub_with_sort_manifest(bool small);

/// The demo's programs for its architectures, each program with all of its kernels.
[[nodiscard]] std::string demo_manifest(bool small);

/// Each of the demo's kernels as a program of its own, for two architectures: 72 of them.
[[nodiscard]] std::string demo_kernels_alone_manifest(bool small);

}  // namespace kiln::bench
