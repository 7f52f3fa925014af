#include "kiln/named_kernels.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "launch/access.h"
#include "launch/growing_table.h"
#include "launch/name_hash.h"

namespace kiln {
namespace {

/// A name that lies, where it is as short as most are, beside what it names: a look-up reads one place less.
class KeptName {
 public:
  explicit KeptName(std::string_view name) : size_(name.size()) {
    if (size_ <= nearby_.size()) {
      name.copy(nearby_.data(), size_);
    } else {
      longer_ = std::make_unique<char[]>(size_);
      name.copy(longer_.get(), size_);
    }
  }

  bool operator==(std::string_view name) const noexcept {
    return name == std::string_view(longer_ ? longer_.get() : nearby_.data(), size_);
  }

 private:
  std::size_t size_;
  std::array<char, 32> nearby_;
  std::unique_ptr<char[]> longer_;
};

std::size_t hash_of(std::string_view name) noexcept { return name_hash(name); }
std::size_t hash_of(std::uint64_t number) noexcept { return mixed(number); }

// What a kernel was named. A look-up reads one line of the processor's cache for it.
template <class Name>
struct alignas(64) Named {
  Named(std::size_t its_hash, const auto& its_name, const KernelRecord& its_record)
      : hash(its_hash), name(its_name), record(&its_record) {}

  const std::size_t hash;
  const Name name;
  mutable std::atomic<const KernelRecord*> record;  ///< The one that was set last.
};

template <class Name>
class Table {
 public:
  [[nodiscard]] const Named<Name>* find(const auto& name) const noexcept {
    return entries_.find(hash_of(name),
                         [&](const Named<Name>& entry) { return entry.name == name; });
  }

  [[nodiscard]] std::optional<Kernel> kernel(const auto& name) const noexcept {
    const auto* entry = find(name);
    if (entry == nullptr) return std::nullopt;
    return Kernel(*entry->record.load(std::memory_order_acquire));
  }

  // For one thread at a time.
  void set(const auto& name, const KernelRecord& record) {
    if (const auto* entry = find(name)) {
      entry->record.store(&record, std::memory_order_release);
    } else {
      entries_.add(hash_of(name), name, record);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  GrowingTable<Named<Name>> entries_;
};

}  // namespace

struct NamedKernels::State {
  Table<KeptName> by_name;
  Table<std::uint64_t> by_number;
  mutable std::mutex mutex;  ///< Held by those who set.
};

NamedKernels::NamedKernels() : state_(std::make_unique<State>()) {}
NamedKernels::~NamedKernels() = default;
NamedKernels::NamedKernels(NamedKernels&& other) noexcept = default;
NamedKernels& NamedKernels::operator=(NamedKernels&& other) noexcept = default;

std::optional<Kernel> NamedKernels::find(std::string_view name) const noexcept {
  return state_->by_name.kernel(name);
}

std::optional<Kernel> NamedKernels::find(std::uint64_t number) const noexcept {
  return state_->by_number.kernel(number);
}

void NamedKernels::set(std::string_view name, const Kernel& kernel) {
  const std::lock_guard lock(state_->mutex);
  state_->by_name.set(name, KernelAccess::record(kernel));
}

void NamedKernels::set(std::uint64_t number, const Kernel& kernel) {
  const std::lock_guard lock(state_->mutex);
  state_->by_number.set(number, KernelAccess::record(kernel));
}

std::size_t NamedKernels::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->by_name.size() + state_->by_number.size();
}

}  // namespace kiln
