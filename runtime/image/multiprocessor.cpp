#include "image/multiprocessor.h"

#include <algorithm>
#include <array>

namespace kiln {

namespace {

constexpr std::uint32_t kib = 1024;

// Threads, blocks and shared memory: "CUDA C++ Programming Guide", "Technical Specifications per Compute Capability"
// (of CUDA 12.9 for 7.0 to 7.2 and for 10.1, which CUDA 13 calls 11.0). Granularities, and what is reserved: the
// calculator that CUDA ships for programs to include, cuda_occupancy.h of CUDA 13.0.
constexpr std::array known{
    Multiprocessor{70, 2048, 32, 96 * kib, 0, 256},
    Multiprocessor{72, 2048, 32, 96 * kib, 0, 256},
    Multiprocessor{75, 1024, 16, 64 * kib, 0, 256},
    Multiprocessor{80, 2048, 32, 164 * kib, 1 * kib, 128},
    Multiprocessor{86, 1536, 16, 100 * kib, 1 * kib, 128},
    Multiprocessor{87, 1536, 16, 164 * kib, 1 * kib, 128},
    Multiprocessor{89, 1536, 24, 100 * kib, 1 * kib, 128},
    Multiprocessor{90, 2048, 32, 228 * kib, 1 * kib, 128},
    Multiprocessor{100, 2048, 32, 228 * kib, 1 * kib, 128},
    Multiprocessor{101, 1536, 24, 228 * kib, 1 * kib, 128},
    Multiprocessor{103, 2048, 32, 228 * kib, 1 * kib, 128},
    Multiprocessor{110, 1536, 24, 228 * kib, 1 * kib, 128},
    Multiprocessor{120, 1536, 24, 100 * kib, 1 * kib, 128},
    Multiprocessor{121, 1536, 24, 100 * kib, 1 * kib, 128},
};

}  // namespace

std::optional<Multiprocessor> multiprocessor(int version) {
  const auto* found = std::ranges::find(known, version, &Multiprocessor::version);
  return found != known.end() ? std::optional(*found) : std::nullopt;
}

}  // namespace kiln
