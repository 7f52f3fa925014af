// Every library of this process, NVRTC too, asks the system for memory through these functions: the loader
// prefers the program's own to those of the C library.

#include "memory_map.h"

#include <sys/mman.h>

#include "front_end_heap.h"

namespace {

// The first call comes before main() does.
constinit kiln::FrontEndHeap heap;

}  // namespace

void kiln::leave_memory_to_the_system() noexcept { heap.leave_to_the_system(); }

// The sanitizers have an mmap of their own.
#ifndef KILN_SANITIZED
extern "C" {

void* mmap(void* address, std::size_t size, int protection, int flags, int file,
           off_t offset) noexcept {
  return heap.map(address, size, protection, flags, file, offset);
}

int munmap(void* address, std::size_t size) noexcept { return heap.unmap(address, size); }
}
#endif
