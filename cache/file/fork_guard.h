#pragma once

namespace kiln::storage {

/// Closes a lock's descriptor in every child that this process forks. A lock belongs to the open file, which a child
/// shares: otherwise a child that never asked for the lock would hold it after its parent has ended.
///
/// Looks after at most 1,024 descriptors at one time; children share a lock beyond them.
/// Safe from any thread.
void close_in_children(int descriptor) noexcept;

/// Takes that back. Call it before you close the descriptor.
void forget_in_children(int descriptor) noexcept;

}  // namespace kiln::storage
