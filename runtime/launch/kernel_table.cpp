#include "launch/kernel_table.h"

#include "launch/name_hash.h"

namespace kiln {
namespace {

std::size_t hash_of(std::uint64_t program, CUdevice device, std::string_view expression) noexcept {
  return name_hash(expression) ^ mixed(program + (static_cast<std::uint64_t>(device) << 48));
}

}  // namespace

const KernelTable::Entry* KernelTable::find(std::size_t hash, std::uint64_t program,
                                            CUdevice device,
                                            std::string_view expression) const noexcept {
  return entries_.find(hash, [&](const Entry& entry) {
    return entry.program == program && entry.device == device && entry.expression == expression;
  });
}

const KernelRecord* KernelTable::find(std::uint64_t program, CUdevice device,
                                      std::string_view expression) const noexcept {
  const auto* entry = find(hash_of(program, device, expression), program, device, expression);
  return entry != nullptr ? entry->record : nullptr;
}

void KernelTable::add(std::uint64_t program, CUdevice device, std::string_view expression,
                      const KernelRecord& record) {
  const auto hash = hash_of(program, device, expression);
  const std::lock_guard lock(mutex_);
  if (find(hash, program, device, expression) != nullptr) return;
  if (entries_.size() == most_kernels) return;
  entries_.add(Entry{hash, program, device, std::string(expression), &record});
}

}  // namespace kiln
