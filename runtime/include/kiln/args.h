#pragma once

// kiln/args.h: the arguments of a launch: copied, compared with the kernel's parameters, replaced one by one.
//
//     kiln::Args args(x, 0.5f, count);
//     kernel.launch(stream, {.grid = {1}, .block = {256}}, args).value();
//     args.set(1, 2.0f).value();  // the second; the others stay

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/numbers.h"

namespace KILN_EXPORT kiln {

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
  float8_e4m3,
  float8_e5m2,
  float32,
  float64,
  pointer,
  array,      ///< A std::array or std::span: its elements, by value.
  structure,  ///< Any other trivially copyable type, with its size and alignment.
};

/// "bool", "int8", … "structure". Static lifetime.
[[nodiscard]] const char* to_string(ArgKind kind) noexcept;

/// CUDA's limit for all arguments together, padding included. Bytes.
inline constexpr std::size_t max_argument_bytes = 32764;
/// The largest alignment of an argument: CUtensorMap's, as of CUDA 13, which goes by value like any other structure; the
/// kernel's side is <kiln/tensor_map.cuh>. Bytes.
inline constexpr std::size_t max_argument_alignment = 128;

namespace detail {

template <class T>
struct ArrayTraits {
  static constexpr bool is_array = false;
  using Element = T;
};
template <class T, std::size_t count>
struct ArrayTraits<std::array<T, count>> {
  static constexpr bool is_array = true;
  using Element = T;
};
template <class T, std::size_t extent>
struct ArrayTraits<std::span<T, extent>> {
  static constexpr bool is_array = true;
  using Element = std::remove_cv_t<T>;
};

}  // namespace detail

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
  } else if constexpr (std::is_same_v<T, Float8E4M3>) {
    return ArgKind::float8_e4m3;
  } else if constexpr (std::is_same_v<T, Float8E5M2>) {
    return ArgKind::float8_e5m2;
  } else if constexpr (std::is_same_v<T, float>) {
    return ArgKind::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ArgKind::float64;
  } else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
    return ArgKind::pointer;
  } else if constexpr (detail::ArrayTraits<T>::is_array) {
    return ArgKind::array;
  } else {
    return ArgKind::structure;
  }
}

/// Describes one type of arguments, once for the whole process.
struct ArgType {
  std::string_view name;  ///< As the compiler spells it. Static lifetime.
  ArgKind kind;
  ArgKind element;         ///< The kind of an array's elements; for other kinds the kind itself.
  std::uint8_t alignment;  ///< Bytes.
  bool raw;                ///< std::byte elements: they fit parameters of any alignment.
};

namespace detail {

template <class T>
constexpr auto spelled_name() noexcept {
  // "constexpr auto kiln::detail::spelled_name() [with T = float*]", or clang's "[T = float *]".
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "T = ";
  constexpr std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.rfind(']') - begin);
}

/// How a value is passed: where its bytes are and how many. `fixed_size` is 0 where only the value tells how
/// many.
template <class T>
struct ArgPassing {
  using Aligned = T;
  static constexpr std::size_t fixed_size = sizeof(T);
  static const void* data(const T& value) noexcept { return std::addressof(value); }
  static constexpr std::size_t size(const T& /*value*/) noexcept { return sizeof(T); }
};

inline constexpr const void* null_argument = nullptr;

template <>
struct ArgPassing<std::nullptr_t> {
  using Aligned = const void*;
  static constexpr std::size_t fixed_size = sizeof(const void*);
  static const void* data(std::nullptr_t) noexcept { return &null_argument; }
  static constexpr std::size_t size(std::nullptr_t) noexcept { return fixed_size; }
};

/// What stands for no elements: the device's cuda::std::array<T, 0> is as large as one of them. No bytes stand for
/// themselves.
template <class T>
struct NoElements {
  using Aligned = T;
  static constexpr std::size_t fixed_size =
      std::is_same_v<std::remove_cv_t<T>, std::byte> ? 0 : sizeof(T);
  alignas(T) static constexpr std::array<std::byte, fixed_size> bytes{};
};

template <class T, std::size_t extent>
struct ArgPassing<std::span<T, extent>> {
  using Aligned = T;
  static constexpr std::size_t fixed_size =
      extent == std::dynamic_extent ? 0 : extent * sizeof(T);  ///< 0: only the value tells.
  static const void* data(std::span<T, extent> value) noexcept {
    return value.empty() ? NoElements<T>::bytes.data() : static_cast<const void*>(value.data());
  }
  static constexpr std::size_t size(std::span<T, extent> value) noexcept {
    return value.empty() ? NoElements<T>::fixed_size : value.size_bytes();
  }
};

template <class T>
struct ArgPassing<std::array<T, 0>> : NoElements<T> {
  static const void* data(const std::array<T, 0>&) noexcept { return NoElements<T>::bytes.data(); }
  static constexpr std::size_t size(const std::array<T, 0>&) noexcept {
    return NoElements<T>::fixed_size;
  }
};

template <class T>
constexpr bool is_raw =
    std::is_same_v<std::remove_cv_t<typename ArrayTraits<T>::Element>, std::byte>;

template <class T>
inline constexpr ArgType arg_type{
    spelled_name<T>(), arg_kind<T>(), arg_kind<typename ArrayTraits<T>::Element>(),
    static_cast<std::uint8_t>(alignof(typename ArgPassing<T>::Aligned)), is_raw<T>};

/// Says in words what cannot be an argument, and what to pass in its place.
template <class T>
constexpr void require_argument() noexcept {
  static_assert(!std::is_array_v<T>,
                "kiln: an array or string literal is no kernel argument; pass a pointer to device "
                "memory, or a std::array to pass its elements by value");
  static_assert(!std::is_function_v<T>, "kiln: a host function is no kernel argument");
  static_assert(std::is_trivially_copyable_v<typename ArrayTraits<T>::Element>,
                "kiln: a kernel argument is copied byte by byte to the device, so its type must be "
                "trivially copyable; pass a plain structure or a pointer to device memory");
  static_assert(!std::is_same_v<T, long double>,
                "kiln: the device has no long double; pass a double");
  static_assert(alignof(T) <= max_argument_alignment,
                "kiln: a kernel argument is aligned to 128 at most");
  static_assert(sizeof(T) <= max_argument_bytes,
                "kiln: kernel arguments take 32,764 bytes at most");
}

/// `offset`, raised to a multiple of `alignment`, which is a power of two.
constexpr std::size_t align_up(std::size_t offset, std::size_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}

/// Where an argument lies among the others, and what it is. Compared byte by byte, at each launch: eight bytes, which an Args
/// writes in one store. Has no values of its own, since an Args has room for many, and would set them all.
struct ArgPlace {
  std::uint16_t offset;
  std::uint16_t size;
  ArgKind kind;
  std::uint8_t alignment;
  std::uint8_t raw;      ///< 1 for std::byte elements.
  std::uint8_t nothing;  ///< Where padding might hold anything.
};

/// Borrowed arguments, as a launch takes them. `layout` holds the places that members of these types have in
/// a C++ structure. Kernels take their parameters at these places, unless an alignment is above 16.
struct GivenArgs {
  void** pointers;
  const ArgPlace* layout;
  const ArgType* const* types;
  std::size_t count;
  bool checked;  ///< Whether the launch compares `layout` and `types` with the kernel's parameters.
};

static_assert(std::is_trivially_default_constructible_v<ArgPlace>);

/// The largest offset and size that an ArgPlace tells; what is larger is told as this. No kernel takes as much.
inline constexpr std::size_t most_told = 0xffff;
static_assert(most_told > max_argument_bytes);

constexpr ArgPlace place_at(std::size_t offset, std::size_t size, const ArgType& type) noexcept {
  constexpr auto told = [](std::size_t bytes) {
    return static_cast<std::uint16_t>(bytes < most_told ? bytes : most_told);
  };
  return {told(offset), told(size), type.kind, type.alignment, type.raw, 0};
}

/// The place of the next argument, which begins behind `end` bytes. Moves `end` behind it.
constexpr ArgPlace place(std::size_t& end, const ArgType& type, std::size_t size) noexcept {
  const std::size_t offset = align_up(end, type.alignment);
  end = offset + size;
  return place_at(offset, size, type);
}

template <class... Ts>
constexpr auto layout_of(const std::array<std::size_t, sizeof...(Ts)>& sizes) noexcept {
  std::array<ArgPlace, sizeof...(Ts)> layout{};
  [[maybe_unused]] std::size_t end = 0;
  [[maybe_unused]] std::size_t at = 0;
  ((layout[at] = place(end, arg_type<Ts>, sizes[at]), ++at), ...);
  return layout;
}

/// What is known of a list of argument types without their values.
template <class... Ts>
struct Signature {
  static constexpr std::size_t count = sizeof...(Ts);
  static constexpr bool fixed = ((ArgPassing<Ts>::fixed_size != 0) && ...);
  static constexpr std::array<ArgPlace, count> layout =
      layout_of<Ts...>({ArgPassing<Ts>::fixed_size...});
  static constexpr std::array<const ArgType*, count> types{&arg_type<Ts>...};

  static constexpr bool fits() noexcept {
    std::size_t end = 0;
    (place(end, arg_type<Ts>, ArgPassing<Ts>::fixed_size), ...);
    return end <= max_argument_bytes;
  }
};

/// Calls `use` with these values as arguments, in place: nothing is copied.
template <bool checks, class Use, class... Ts>
auto with_arguments(Use&& use, const Ts&... values) {
  (require_argument<Ts>(), ...);
  using List = Signature<Ts...>;
  static_assert(List::fits(), "kiln: kernel arguments take 32,764 bytes at most, all together");
  std::array<void*, sizeof...(Ts)> pointers{const_cast<void*>(ArgPassing<Ts>::data(values))...};
  if constexpr (!checks) {
    return use(GivenArgs{pointers.data(), nullptr, nullptr, sizeof...(Ts), false});
  } else if constexpr (List::fixed) {
    return use(
        GivenArgs{pointers.data(), List::layout.data(), List::types.data(), sizeof...(Ts), true});
  } else {
    const auto layout = layout_of<Ts...>({ArgPassing<Ts>::size(values)...});
    return use(GivenArgs{pointers.data(), layout.data(), List::types.data(), sizeof...(Ts), true});
  }
}

}  // namespace detail

/// One argument as Args holds it. The bytes are valid until that Args changes or ends.
struct ArgView {
  ArgKind kind;
  std::size_t alignment;  ///< Of the bytes, too.
  std::span<const std::byte> bytes;
  std::string_view type;  ///< The C++ type, as the compiler spells it. Static lifetime.
};

/// The arguments of a launch: a value that owns a copy of each, aligned as the kernel wants it.
///
/// Takes bool, integers and enumerations, Half, BFloat16, Float8E4M3, Float8E5M2, float, double,
/// pointers, any trivially copyable structure, and std::array and std::span, whose elements are
/// passed by value (of none, zeros in the size of one, as the device's cuda::std::array<T, 0> is). Holds no pointer into itself and none to the caller's variables (what a pointer
/// argument points to is the caller's business). Up to 32 arguments in 1,024 bytes take no memory
/// from the heap. Not synchronised. A moved-from Args is empty.
class Args {
 public:
  static constexpr std::size_t inline_count = 32;
  static constexpr std::size_t inline_bytes = 1024;
  static constexpr std::size_t max_bytes = max_argument_bytes;
  static constexpr std::size_t max_alignment = max_argument_alignment;

  Args() noexcept = default;

  /// Adds each value, in order.
  template <class... Ts>
  requires(sizeof...(Ts) > 0) explicit Args(const Ts&... values) { (add(values), ...); }

  Args(const Args& other);
  Args(Args&& other) noexcept;
  Args& operator=(const Args& other);
  Args& operator=(Args&& other) noexcept;
  ~Args() = default;

  /// Copies a value behind the others. A value that no longer fits into max_bytes is only counted; the launch
  /// then refuses the Args.
  template <class T>
  Args& add(const T& value) {
    detail::require_argument<T>();
    using Passing = detail::ArgPassing<T>;
    if constexpr (Passing::fixed_size != 0 && Passing::fixed_size <= inline_bytes) {
      constexpr std::size_t size = Passing::fixed_size;
      const std::size_t offset = detail::align_up(used_bytes_, detail::arg_type<T>.alignment);
      if (!large_ && refused_ == 0 && count_ < inline_count && offset <= inline_bytes - size) {
        std::memcpy(inline_storage_.data() + offset, Passing::data(value), size);
        inline_layout_[count_] = detail::place_at(offset, size, detail::arg_type<T>);
        inline_types_[count_] = &detail::arg_type<T>;
        used_bytes_ = offset + size;
        ++count_;
        return *this;
      }
    }
    append(Passing::data(value), Passing::size(value), detail::arg_type<T>);
    return *this;
  }

  /// Replaces the argument at this position, counted from 0. The others stay as they are.
  /// Errors: invalid_argument where there is no such argument; argument_mismatch for a value of another size
  /// or alignment, since it would move the others. On an error nothing changes.
  template <class T>
  [[nodiscard]] Outcome set(std::size_t position, const T& value) {
    detail::require_argument<T>();
    using Passing = detail::ArgPassing<T>;
    return replace(position, Passing::data(value), Passing::size(value), detail::arg_type<T>);
  }

  /// How many arguments were added, including those that did not fit.
  [[nodiscard]] std::size_t size() const noexcept { return count_ + refused_; }

  /// Whether all of them fit into max_bytes.
  [[nodiscard]] bool fits() const noexcept { return refused_ == 0; }

  /// The argument at this position. REQUIRES: there is one, and it fits.
  [[nodiscard]] ArgView operator[](std::size_t position) const noexcept;

  /// Compares kinds, alignments and bytes, including the padding inside structures.
  [[nodiscard]] bool operator==(const Args& other) const noexcept;

 private:
  struct KILN_INTERNAL Large;
  struct LargeDeleter {
    void operator()(Large* large) const noexcept;
  };
  friend struct ArgsAccess;

  void append(const void* value, std::size_t size, const ArgType& type);
  [[nodiscard]] Outcome replace(std::size_t position, const void* value, std::size_t size,
                                const ArgType& type);
  void copy_from(const Args& other);
  void move_to_heap();
  [[nodiscard]] const detail::ArgPlace* layout() const noexcept;
  [[nodiscard]] const ArgType* const* types() const noexcept;
  [[nodiscard]] const std::byte* bytes() const noexcept;

  // Nothing beyond used_bytes_ and count_ is ever set, since an Args may be made for every launch.
  alignas(max_alignment) std::array<std::byte, inline_bytes> inline_storage_;
  std::array<detail::ArgPlace, inline_count> inline_layout_;
  std::array<const ArgType*, inline_count> inline_types_;
  std::unique_ptr<Large, LargeDeleter> large_;  ///< Holds everything once it is there.
  std::size_t used_bytes_ = 0;
  std::size_t count_ = 0;
  std::size_t refused_ = 0;
};

/// One line for people: types and values, e.g. "(float* 0x7f0000001000, int -3, double 0.5)"; the
/// bytes of structures in hexadecimal.
[[nodiscard]] std::string to_string(const Args& args);
std::ostream& operator<<(std::ostream& stream, const Args& args);

}  // namespace kiln
