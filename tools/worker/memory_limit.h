#pragma once

#include <cstdint>

namespace kiln {

/// Bounds this process's address space, which may be bounded by less already. When that is used up, also by the compiler, the process ends with
/// worker_out_of_memory_status. To be called once, from the main thread.
void limit_memory(std::uint64_t bytes);

/// Ends the process with that status.
[[noreturn]] void end_out_of_memory() noexcept;

}  // namespace kiln
