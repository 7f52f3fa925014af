#pragma once

#include <cstdint>

namespace kiln {

/// Bounds this process's address space. Where that is used up, the process ends with the status that
/// says so, also where it is the compiler that cannot go on. To be called once, from the main thread.
void limit_memory(std::uint64_t bytes);

/// Ends the process with the status that says so.
[[noreturn]] void end_out_of_memory() noexcept;

}  // namespace kiln
