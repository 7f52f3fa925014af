#include "front_end_heap.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "compile/precompiled_headers.h"

namespace kiln {

namespace {

constexpr std::size_t heap_bytes = precompiled_heap_bytes;

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

// Reads up to the end of the file, and clears what is beyond it. False if something cannot be read.
bool read_bytes(std::byte* place, std::size_t size, int file, off_t offset) noexcept {
  std::size_t done = 0;
  while (done < size) {
    const auto got = ::pread(file, place + done, size - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  std::memset(place + done, 0, size - done);
  return true;
}

// A stretch of a file that holds data: from `begin`, which is `end` where there is no more of it.
struct Data {
  off_t begin;
  off_t end;
};

// The file's next data between the two; all of that where the system does not know.
Data next_data(int file, off_t offset, off_t end) noexcept {
  const auto begin = ::lseek(file, offset, SEEK_DATA);
  if (begin < 0) return errno == ENXIO ? Data{end, end} : Data{offset, end};
  if (begin >= end) return {end, end};
  const auto hole = ::lseek(file, begin, SEEK_HOLE);
  return {begin, hole < 0 ? end : std::min(hole, end)};
}

// Whether it is the front end's temporary file, which has no name and is nothing but holes, 178 MB for CUB.
bool is_temporary(int file) noexcept {
  struct stat status;
  return ::fstat(file, &status) == 0 && status.st_nlink == 0;
}

// As read_bytes(), but holes are not read: the system would make a page of the file for each of theirs.
bool read_data(std::byte* place, std::size_t size, int file, off_t offset) noexcept {
  const auto position = ::lseek(file, 0, SEEK_CUR);
  if (position < 0) return false;
  const auto end = offset + static_cast<off_t>(size);
  bool done = true;
  for (auto at = offset; done && at < end;) {
    const auto data = next_data(file, at, end);
    std::memset(place + (at - offset), 0, static_cast<std::size_t>(data.begin - at));
    done = read_bytes(place + (data.begin - offset),
                      static_cast<std::size_t>(data.end - data.begin), file, data.begin);
    at = data.end;
  }
  ::lseek(file, position, SEEK_SET);
  return done;
}

}  // namespace

void* FrontEndHeap::map(void* address, std::size_t size, int protection, int flags, int file,
                        off_t offset) noexcept {
  if (protection == (PROT_READ | PROT_WRITE)) {
    // Where it is not reserved, the rest finds nothing.
    if (flags == reserving && address == nullptr && size == heap_bytes && !left_to_the_system_)
      return reserve(size);
    if (flags == beginning_anew && address == begin_ && size == heap_bytes) {
      begin_anew();
      return address;
    }
    if (flags == mapping_a_file && contains(address, size) &&
        read_into_place(address, size, file, offset)) {
      return address;
    }
  }
  // The system may have mapped a file there, which begin_anew() must not clear.
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
  const bool done = is_temporary(file) ? read_data(place, size, file, offset)
                                       : read_bytes(place, size, file, offset);
  if (!done) return false;
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
