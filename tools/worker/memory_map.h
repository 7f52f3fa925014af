#pragma once

namespace kiln {

/// Ends what FrontEndHeap does in this process, where memory_map.cpp puts it in the place of ::mmap and
/// ::munmap. To be called before NVRTC is loaded.
void leave_memory_to_the_system() noexcept;

}  // namespace kiln
