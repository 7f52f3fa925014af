#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "kiln/artifact.h"
#include "kiln/error.h"

// cuda.h's own declaration, so that a stream of either API can be given; both headers may be
// included.
typedef struct CUstream_st* CUstream;

namespace kiln {

/// Sizes of a grid or of a block.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  bool operator==(const Dim3&) const = default;
};

/// How a kernel is launched.
struct LaunchConfig {
  Dim3 grid = {};                  ///< Blocks.
  Dim3 block = {};                 ///< Threads per block.
  std::uint32_t shared_bytes = 0;  ///< Dynamic shared memory per block.

  bool operator==(const LaunchConfig&) const = default;
};

/// An IEEE binary16 number as the device's `__half` holds it. Equality is that of the bits.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  /// Rounds to nearest, ties to even; too large is infinity, a NaN stays one.
  explicit Half(float value) noexcept;
  explicit operator float() const noexcept;
  [[nodiscard]] static Half from_bits(std::uint16_t bits) noexcept;

  bool operator==(const Half&) const = default;
};

/// The upper half of a float, as the device's `__nv_bfloat16` holds it. Equality is that of the
/// bits.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  /// Rounds to nearest, ties to even; too large is infinity, a NaN stays one.
  explicit BFloat16(float value) noexcept;
  explicit operator float() const noexcept;
  [[nodiscard]] static BFloat16 from_bits(std::uint16_t bits) noexcept;

  bool operator==(const BFloat16&) const = default;
};

/// What a launch argument is. An enumeration counts as its underlying type.
enum class ArgKind : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  half,
  bfloat16,
  float32,
  float64,
  pointer,
  structure,  ///< Any other trivially copyable type, with its size and alignment.
};

/// "bool", "int8", … "structure". Static lifetime.
[[nodiscard]] const char* to_string(ArgKind kind) noexcept;

/// The kind that values of type T are passed as.
template <class T>
[[nodiscard]] constexpr ArgKind arg_kind() noexcept {
  if constexpr (std::is_enum_v<T>) {
    return arg_kind<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return ArgKind::boolean;
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr ArgKind first = std::is_signed_v<T> ? ArgKind::int8 : ArgKind::uint8;
    return static_cast<ArgKind>(static_cast<int>(first) + std::countr_zero(sizeof(T)));
  } else if constexpr (std::is_same_v<T, Half>) {
    return ArgKind::half;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return ArgKind::bfloat16;
  } else if constexpr (std::is_same_v<T, float>) {
    return ArgKind::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ArgKind::float64;
  } else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
    return ArgKind::pointer;
  } else {
    return ArgKind::structure;
  }
}

/// One argument as Args holds it. The bytes are valid until that Args changes or ends.
struct ArgView {
  ArgKind kind;
  std::size_t alignment;  ///< Of the bytes, too.
  std::span<const std::byte> bytes;
};

/// The arguments of a launch: a value that owns a copy of each, aligned as the kernel wants it.
///
/// Holds no pointer into itself and none to the caller's variables (what a pointer argument points
/// to is the caller's business). Up to 32 arguments in 1,024 bytes take no memory from the heap.
/// Not synchronised. A moved-from Args is empty.
class Args {
 public:
  static constexpr std::size_t inline_count = 32;
  static constexpr std::size_t inline_bytes = 1024;
  static constexpr std::size_t max_bytes = 32764;    ///< CUDA's limit, padding included.
  static constexpr std::size_t max_alignment = 128;  ///< CUtensorMap's, as of CUDA 13.

  Args() noexcept = default;

  /// The same as add() for each, in order.
  template <class... Ts>
  requires(sizeof...(Ts) > 0) explicit Args(const Ts&... values) { (add(values), ...); }

  Args(const Args& other);
  Args(Args&& other) noexcept;
  Args& operator=(const Args& other);
  Args& operator=(Args&& other) noexcept;
  ~Args() = default;

  /// Copies a value behind the others. What does not fit into max_bytes any more is only counted,
  /// and refused by the launch.
  template <class T>
  Args& add(const T& value) {
    static_assert(
        !std::is_array_v<T>,
        "kiln: an array or string literal is no kernel argument; pass a pointer to device "
        "memory, or a std::array to pass its elements by value");
    static_assert(!std::is_function_v<T>, "kiln: a host function is no kernel argument");
    static_assert(
        std::is_trivially_copyable_v<T>,
        "kiln: a kernel argument is copied byte by byte to the device, so its type must be "
        "trivially copyable; pass a plain structure or a pointer to device memory");
    static_assert(!std::is_same_v<T, long double>,
                  "kiln: the device has no long double; pass a double");
    static_assert(alignof(T) <= max_alignment, "kiln: a kernel argument is aligned to 128 at most");
    static_assert(sizeof(T) <= max_bytes, "kiln: kernel arguments take 32,764 bytes at most");
    if constexpr (std::is_null_pointer_v<T>) {
      return add<const void*>(nullptr);
    } else {
      append(&value, sizeof(T), alignof(T), arg_kind<T>());
      return *this;
    }
  }

  /// How many were added, the ones that did not fit included.
  [[nodiscard]] std::size_t size() const noexcept { return count_ + refused_; }

  /// False when one of them did not fit into max_bytes.
  [[nodiscard]] bool fits() const noexcept { return refused_ == 0; }

  /// The argument at this position, which must be one that fits.
  [[nodiscard]] ArgView operator[](std::size_t position) const noexcept;

  /// Equal kinds, alignments and bytes, the padding inside structures included.
  [[nodiscard]] bool operator==(const Args& other) const noexcept;

 private:
  struct Slot {
    std::uint16_t offset;
    std::uint16_t size;
    std::uint8_t alignment;
    ArgKind kind;
  };
  struct Large;

  struct LargeDeleter {
    void operator()(Large* large) const noexcept;
  };

  void append(const void* value, std::size_t size, std::size_t alignment, ArgKind kind);
  void copy_from(const Args& other);
  void move_to_heap();
  [[nodiscard]] const Slot* slots() const noexcept;
  [[nodiscard]] const std::byte* bytes() const noexcept;

  // Only the first used_bytes_ and count_ are ever set: an Args is made for every launch.
  alignas(max_alignment) std::array<std::byte, inline_bytes> inline_storage_;
  std::array<Slot, inline_count> inline_slots_;
  std::unique_ptr<Large, LargeDeleter> large_;  ///< Holds everything once it is there.
  std::size_t used_bytes_ = 0;
  std::size_t count_ = 0;
  std::size_t refused_ = 0;
};

struct KernelRecord;

/// A kernel that can be launched. A handle, cheap to copy, valid as long as the runtime that gave
/// it; safe to use from any thread.
class Kernel {
 public:
  /// For the runtime, which keeps the record.
  explicit Kernel(const KernelRecord& record) noexcept : record_(&record) {}

  /// Queues a launch in a stream of the calling thread's current context; with no context, that of
  /// the device the kernel was loaded for becomes current. Takes no lock; takes nothing from the
  /// heap up to Args::inline_count arguments. Errors: argument_mismatch (naming kernel, position,
  /// expected and given; nothing was launched), invalid_argument (an empty grid or block),
  /// driver_failed.
  [[nodiscard]] Result<void> launch(CUstream stream, const LaunchConfig& config,
                                    const Args& args) const;

  /// The same with the arguments given one by one.
  template <class... Ts>
  [[nodiscard]] Result<void> launch(CUstream stream, const LaunchConfig& config,
                                    const Ts&... values) const {
    return launch(stream, config, Args(values...));
  }

  [[nodiscard]] const KernelInfo& info() const noexcept;

  /// What the image that was loaded was compiled for, e.g. "sm_90a".
  [[nodiscard]] const std::string& arch() const noexcept;

 private:
  const KernelRecord* record_;
};

}  // namespace kiln
