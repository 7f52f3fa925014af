// Programmatic dependent launch: a kernel that starts while the one before it still runs.
//
// Below sm_90, and where the launch did not ask for it, both calls do nothing.
#pragma once

namespace kiln {

// Returns once the kernels this one depends on have finished and what they wrote can be seen. What
// comes before it (indices, weights) overlaps with them; every thread that reads their results must
// call it.
__device__ __forceinline__ void wait_for_dependencies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel start. It sees this one's results only after its own wait, so the call may
// come as early as the machine has room for both.
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace kiln
