#pragma once

namespace kiln::storage {

/// getpid() without the call, for the way of a hit. A child made by other means than fork() has its
/// parent's, and may not use what its parent opened.
[[nodiscard]] int process_id() noexcept;

/// Closes a lock's descriptor in every child that this process forks. A lock belongs to the open file,
/// which a child shares: without this, a lock would outlive its holder for as long as some child that
/// never asked for it.
///
/// At most 1,024 descriptors at one time are looked after; a lock beyond them is an ordinary one.
/// Safe from any thread.
void close_in_children(int descriptor) noexcept;

/// Before the descriptor is closed.
void forget_in_children(int descriptor) noexcept;

}  // namespace kiln::storage
