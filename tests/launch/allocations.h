#pragma once

#include <cstddef>

/// How often the calling thread has asked the heap for memory through operator new.
[[nodiscard]] std::size_t allocation_count() noexcept;
