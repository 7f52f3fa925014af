#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>

namespace kiln {

/// The region that NVRTC's front end works in while precompiled headers are on: precompiled_heap_bytes at one
/// address for the life of the process (12.8 to 13.5), into which it maps files privately, some 64 KiB at
/// a time: a temporary one that grows, and a precompiled header to use it (2,700 pieces for CUB). It touches
/// most pages of these mappings. Each of them is a page fault, and the faults are a third of such a compile.
///
/// This class gives the region large pages that stay, and reads each file into its place. The front end sees no
/// difference: nobody writes to such a file while it is mapped. Where this cannot tell the region, or cannot
/// read a file, the system maps as ever.
///
/// Safe to use from any thread, for different parts of the region.
class FrontEndHeap {
 public:
  /// As ::mmap.
  void* map(void* address, std::size_t size, int protection, int flags, int file,
            off_t offset) noexcept;

  /// From now on the system maps as ever. What lies in the region already stays there.
  void leave_to_the_system() noexcept { left_to_the_system_ = true; }

  /// As ::munmap.
  int unmap(void* address, std::size_t size) noexcept;

 private:
  void* reserve(std::size_t size) noexcept;
  void begin_anew() noexcept;
  bool read_into_place(void* address, std::size_t size, int file, off_t offset) noexcept;

  [[nodiscard]] bool contains(const void* address, std::size_t size) const noexcept;

  std::atomic<bool> left_to_the_system_ = false;
  std::atomic<std::byte*> begin_ = nullptr;
  std::atomic<std::size_t> used_ = 0;  ///< Bytes from the begin, behind which no file was read.
};

}  // namespace kiln
