#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "launch/kernel_record.h"

namespace kiln {

/// The kernels that were asked for, by program, device and expression. A look-up takes no lock and nothing
/// from the heap, so that a thread that launches never waits for one that loads. Entries are never removed:
/// records live as long as the runtime. Safe to use from any thread.
class KernelTable {
 public:
  /// A host that makes a new program for each call would fill it for ever, so later kernels are not kept.
  static constexpr std::size_t most_kernels = 65'536;

  KernelTable();

  /// nullptr where it was not added.
  [[nodiscard]] const KernelRecord* find(std::uint64_t program, CUdevice device,
                                         std::string_view expression) const noexcept;

  void add(std::uint64_t program, CUdevice device, std::string_view expression,
           const KernelRecord& record);

 private:
  struct Entry {
    std::size_t hash;
    std::uint64_t program;
    CUdevice device;
    std::string expression;
    const KernelRecord* record;
  };
  // A power of two of them, at most half of them taken; a chain ends at the first that is null.
  using Slots = std::vector<std::atomic<const Entry*>>;

  static const Entry* find_in(const Slots& slots, std::size_t hash, std::uint64_t program,
                              CUdevice device, std::string_view expression) noexcept;
  static void insert(Slots& slots, const Entry& entry);
  void grow();

  std::atomic<const Slots*> current_;
  std::mutex mutex_;  ///< Held by those who add.
  std::deque<Entry> entries_;
  std::vector<std::unique_ptr<Slots>>
      all_;  ///< Also outgrown ones, since somebody may be reading them.
};

}  // namespace kiln
