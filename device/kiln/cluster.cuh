// Thread block clusters: blocks that run together and read each other's shared memory.
//
// Below sm_90 every block is a cluster of one, so that a kernel written for clusters runs there
// too.
#pragma once

namespace kiln {

// This block's place in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
#if __CUDA_ARCH__ >= 900
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

// How many blocks the cluster has.
__device__ __forceinline__ unsigned cluster_size() {
#if __CUDA_ARCH__ >= 900
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
#else
  return 1;
#endif
}

// The two halves of cluster_sync(): work that needs nothing of the others fits between them.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}

// A barrier for all threads of the cluster; what they wrote to shared memory before it can be seen
// after it. A block must pass one after the last access to its shared memory by others before it
// ends.
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// The address of the same shared variable in the block of that rank.
template <typename T>
__device__ __forceinline__ T* map_shared(T* address, unsigned rank) {
#if __CUDA_ARCH__ >= 900
  unsigned long long mapped;
  asm("mapa.u64 %0, %1, %2;"
      : "=l"(mapped)
      : "l"(reinterpret_cast<unsigned long long>(address)), "r"(rank));
  return reinterpret_cast<T*>(mapped);
#else
  return address;
#endif
}

}  // namespace kiln
