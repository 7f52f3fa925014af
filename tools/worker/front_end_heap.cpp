#include "front_end_heap.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace kiln {

namespace {

constexpr std::size_t heap_bytes = 256UL << 20;

constexpr int reserving = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int beginning_anew = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
constexpr int mapping_a_file = MAP_PRIVATE | MAP_FIXED;

// Not ::mmap, which may be this.
void* system_map(void* address, std::size_t size, int protection, int flags, int file,
                 off_t offset) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what the system calls an address.
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

}  // namespace

void* FrontEndHeap::map(void* address, std::size_t size, int protection, int flags, int file,
                        off_t offset) noexcept {
  if (protection == (PROT_READ | PROT_WRITE)) {
    if (flags == reserving && address == nullptr && size == heap_bytes) return reserve(size);
    if (flags == beginning_anew && address == begin_ && size == heap_bytes) {
      begin_anew();
      return address;
    }
    if (flags == mapping_a_file && contains(address, size) &&
        read_into_place(address, size, file, offset)) {
      return address;
    }
  }
  // What the system has mapped there is not for begin_anew() to clear: it may be a file.
  if ((flags & MAP_FIXED) != 0 && contains(address, 1)) begin_ = nullptr;
  return system_map(address, size, protection, flags, file, offset);
}

int FrontEndHeap::unmap(void* address, std::size_t size) noexcept {
  if (contains(address, 1)) begin_ = nullptr;
  return static_cast<int>(::syscall(SYS_munmap, address, size));
}

void* FrontEndHeap::reserve(std::size_t size) noexcept {
  void* region = system_map(nullptr, size, PROT_READ | PROT_WRITE, reserving, -1, 0);
  if (region == MAP_FAILED) return region;
  ::madvise(region, size, MADV_HUGEPAGE);  // Small ones do as well.
  begin_ = static_cast<std::byte*>(region);
  used_ = 0;
  return region;
}

// What was used is used again, so it is cleared rather than given back.
void FrontEndHeap::begin_anew() noexcept {
  std::byte* begin = begin_;
  const std::size_t used = used_;
  std::memset(begin, 0, used);
  ::madvise(begin + used, heap_bytes - used, MADV_DONTNEED);
}

bool FrontEndHeap::read_into_place(void* address, std::size_t size, int file,
                                   off_t offset) noexcept {
  auto* const place = static_cast<std::byte*>(address);
  std::size_t done = 0;
  while (done < size) {
    const auto got = ::pread(file, place + done, size - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  std::memset(place + done, 0, size - done);
  const auto end = static_cast<std::size_t>(place + size - begin_);
  std::size_t used = used_;
  while (used < end && !used_.compare_exchange_weak(used, end)) {
  }
  return true;
}

bool FrontEndHeap::contains(const void* address, std::size_t size) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(begin_.load());
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return begin != 0 && at >= begin && at - begin < heap_bytes && size <= heap_bytes - (at - begin);
}

}  // namespace kiln
