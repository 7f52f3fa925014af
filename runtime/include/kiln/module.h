#pragma once

// kiln/module.h: the kernels and variables of an image in the driver, whoever made the image.
//
//     const kiln::Module module = runtime.module(program).value();
//     module.variable("table").value().set(std::array<float, 2>{1, 2}).value();
//     module.kernel("scale<float>").value().launch(stream, {.block = {256}}, x, 0.5f).value();

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/launch.h"

// cuda.h's own declaration; both headers may be included.
typedef struct CUlib_st* CUlibrary;

namespace kiln {
class LoadedImage;
}

namespace KILN_EXPORT kiln {

/// A `__constant__` or `__device__` variable of a module, in one context. A value; valid as long as the
/// runtime (after its end, reading and writing are errors: invalid_argument) and that context. Safe to use from any thread whose current context is that one.
class Variable {
 public:
  /// For Module.
  Variable(const LoadedImage& image, std::string name, std::uint64_t address,
           std::size_t size) noexcept;

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }  ///< On the device.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }          ///< Bytes.

  /// Copies in the stream, and waits until the copy is done. Errors: invalid_argument where the bytes do not
  /// lie within the variable; driver_failed.
  [[nodiscard]] Outcome write(std::span<const std::byte> bytes, std::size_t offset = 0,
                              CUstream stream = nullptr) const;
  [[nodiscard]] Outcome read(std::span<std::byte> bytes, std::size_t offset = 0,
                             CUstream stream = nullptr) const;

  /// Copies the whole variable as one value, whose size must be the variable's. Errors: as above.
  template <class T>
  requires(std::is_trivially_copyable_v<T>) [[nodiscard]] Outcome
      set(const T& value, CUstream stream = nullptr) const {
    if (auto same = check_size(sizeof(T)); !same) return same;
    return write(std::as_bytes(std::span(&value, 1)), 0, stream);
  }
  template <class T>
  requires(std::is_trivially_copyable_v<T>)
      [[nodiscard]] Result<T> get(CUstream stream = nullptr) const {
    T value{};
    if (auto same = check_size(sizeof(T)); !same) return tl::unexpected(same.error());
    if (auto got = read(std::as_writable_bytes(std::span(&value, 1)), 0, stream); !got)
      return tl::unexpected(got.error());
    return value;
  }

 private:
  [[nodiscard]] Outcome check_size(std::size_t given) const;
  [[nodiscard]] Outcome check_range(std::size_t offset, std::size_t length) const;

  const LoadedImage* image_;
  unsigned life_;  ///< Which loading of the image it belongs to.
  std::string name_;
  std::uint64_t address_;
  std::size_t size_;
};

/// An image in the driver, for one device, whatever made it. A handle, cheap to copy, valid as long as the
/// runtime that gave it: after its end, asking for kernels and variables is an error (invalid_argument), until another
/// runtime of the process loads the same image for the device. Safe to use from any thread.
class Module {
 public:
  /// For the runtime, which keeps the image.
  explicit Module(const LoadedImage& image) noexcept : image_(&image) {}

  /// A kernel by its name expression, its symbol, or the C++ name that the symbol stands for
  /// ("engine::scale<float>", without return type and parameters). Errors: unknown_kernel, which names
  /// those that there are.
  [[nodiscard]] Result<Kernel> kernel(std::string_view name) const;

  /// What is known of its kernels, in the order of the expressions.
  [[nodiscard]] std::vector<KernelInfo> kernels() const;

  /// A variable of the calling thread's context. `name` is its symbol (for one in no namespace, its plain
  /// name), or the name expression under which the program lists its address ("&engine::table"). The compiler
  /// drops a variable that nothing uses and no expression names.
  /// Errors: not_found, driver_failed.
  [[nodiscard]] Result<Variable> variable(std::string_view name) const;

  /// The architecture that the image was made for, e.g. "sm_90a".
  [[nodiscard]] const std::string& arch() const noexcept;

  /// The driver's own handle, for what kiln does not do, such as cuLibraryGetManaged(). Borrowed: it belongs to the runtime, is
  /// valid as long as that, and is not to be unloaded. Null after the runtime's end.
  [[nodiscard]] CUlibrary native_handle() const noexcept;

 private:
  const LoadedImage* image_;
};

}  // namespace kiln
