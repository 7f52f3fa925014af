// A barrier in shared memory that counts bytes as well as threads, which is how a block waits for
// the copies it asked the hardware to make. sm_90 and newer.
#pragma once

namespace kiln {

// For __shared__ variables. Arrivals is the number of threads that arrive in a round; one thread
// that asks for the copies is the usual case.
template <int Arrivals = 1>
class TransactionBarrier {
#if __CUDA_ARCH__ >= 900
 public:
  // By one thread, before a __syncthreads() that all users of the barrier pass.
  __device__ void init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(Arrivals)
                 : "memory");
    // The copy engine has its own path to shared memory and must find the barrier initialised.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }

  // Arrives, and makes the round last until that many bytes have come too.
  __device__ void arrive_and_expect(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }

  // Returns when the round is over. Rounds have parity 0, 1, 0, ... in turn.
  __device__ void wait(unsigned parity) const {
    while (!try_wait(parity)) {
    }
  }

  // The address as the shared-memory instructions take it.
  __device__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(&state_));
  }

 private:
  __device__ bool try_wait(unsigned parity) const {
    unsigned done;
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n"
        "}"
        : "=r"(done)
        : "r"(address()), "r"(parity)
        : "memory");
    return done != 0;
  }

  unsigned long long state_;
#else
  static_assert(Arrivals < 0, "kiln::TransactionBarrier needs sm_90 or newer");
#endif
};

}  // namespace kiln
