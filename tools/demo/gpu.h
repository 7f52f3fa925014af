#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace demo {

/// Memory of the first GPU: what the demo needs of the driver beside launches, which are kiln's.
/// A handle; copies share it. A fault of the driver is a std::runtime_error.
class Gpu {
 public:
  /// Makes the device's primary context current on the calling thread. `driver` is the library.
  [[nodiscard]] static Gpu open(const std::filesystem::path& driver);

  /// An address that only kernels can read.
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  void free(void* address) const noexcept;
  void upload(void* to, const void* from, std::size_t bytes) const;
  /// Waits for what was launched before.
  void download(void* to, const void* from, std::size_t bytes) const;

 private:
  struct Functions;
  explicit Gpu(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {}
  std::shared_ptr<const Functions> functions_;
};

/// An array in device memory, which it owns.
template <class T>
class DeviceArray {
 public:
  DeviceArray(Gpu gpu, const std::vector<T>& values)
      : gpu_(std::move(gpu)),
        size_(values.size()),
        address_(static_cast<T*>(gpu_.allocate(size_ * sizeof(T)))) {
    assign(values);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { gpu_.free(address_); }

  /// For kernels.
  [[nodiscard]] T* get() const noexcept { return address_; }

  /// Overwrites the first values. REQUIRES: no more than there are.
  void assign(const std::vector<T>& values) const {
    gpu_.upload(address_, values.data(), values.size() * sizeof(T));
  }

  [[nodiscard]] std::vector<T> values() const { return first(size_); }

  /// The first `count` values. REQUIRES: no more than there are.
  [[nodiscard]] std::vector<T> first(std::size_t count) const {
    std::vector<T> values(count);
    gpu_.download(values.data(), address_, count * sizeof(T));
    return values;
  }

 private:
  Gpu gpu_;
  std::size_t size_;
  T* address_;
};

}  // namespace demo
