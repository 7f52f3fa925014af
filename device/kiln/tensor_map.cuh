// CUtensorMap for kernels, and the copies that take one. The driver's <cuda.h>, where the type
// lives, cannot be included in code compiled at run time.
//
// A kernel takes a map as `const __grid_constant__ CUtensorMap`.
#pragma once

#include <kiln/transaction_barrier.cuh>

// The driver's header brings its own definition, under the same names.
#ifndef __cuda_cuda_h__
struct alignas(64) CUtensorMap_st {
  unsigned long long opaque[16];
};
typedef struct CUtensorMap_st CUtensorMap;
#endif

static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) >= 64,
              "a CUtensorMap has 128 bytes, aligned to 64 or more");

namespace kiln {

// Fetches the descriptor ahead of its first use. By one thread. Does nothing below sm_90.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap& map) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

// Starts the copy of the map's box at those coordinates (innermost first) into shared memory, which
// is aligned to 128 bytes. Its bytes count on the barrier. By one thread; sm_90 and newer.
template <int Arrivals, typename... Coordinates>
__device__ __forceinline__ void load_tensor(void* destination, const CUtensorMap& map,
                                            TransactionBarrier<Arrivals>& barrier,
                                            Coordinates... coordinates) {
  constexpr int rank = sizeof...(Coordinates);
  static_assert(rank >= 1 && rank <= 5, "a tensor map has one to five dimensions");
#if __CUDA_ARCH__ >= 900
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(destination));
  const int at[rank] = {static_cast<int>(coordinates)...};
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3}], [%2];" ::"r"(target),
        "l"(&map), "r"(barrier.address()), "r"(at[0])
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(target),
        "l"(&map), "r"(barrier.address()), "r"(at[0]), "r"(at[1])
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(target),
        "l"(&map), "r"(barrier.address()), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(target),
        "l"(&map), "r"(barrier.address()), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(target),
        "l"(&map), "r"(barrier.address()), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "r"(at[4])
        : "memory");
  }
#endif  // A TransactionBarrier below sm_90 has said so already.
}

}  // namespace kiln
