#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "launch/growing_table.h"
#include "launch/kernel_record.h"

namespace kiln {

/// The kernels that were asked for, by program, device and expression. Entries are never removed: records live as long as the
/// runtime. Safe to use from any thread; a look-up takes no lock.
class KernelTable {
 public:
  /// A host that makes a new program for each call would fill it for ever, so later kernels are not kept.
  static constexpr std::size_t most_kernels = 65'536;

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

  [[nodiscard]] const Entry* find(std::size_t hash, std::uint64_t program, CUdevice device,
                                  std::string_view expression) const noexcept;

  GrowingTable<Entry> entries_;
  std::mutex mutex_;  ///< Held by those who add.
};

}  // namespace kiln
