// Copies from global to shared memory that pass no register and are waited for later. sm_80.
#pragma once

namespace engine {

// Copies 16 aligned bytes, or writes zeros where `valid` is false (nothing is read then).
__device__ __forceinline__ void copy_16_bytes(void* shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(__cvta_generic_to_global(global)), "r"(valid ? 16 : 0)
               : "memory");
}

// Closes a group of copies; an empty group is fine and keeps the count in step.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Returns when this thread has at most that many groups under way.
template <int Pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace engine
