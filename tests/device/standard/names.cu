// What kernels written for nvcc take from the standard library, by the names they take it by.

#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

// <cstdint>, <climits>, <cfloat>, <cstddef>
static_assert(sizeof(std::uint8_t) == 1 && sizeof(std::int16_t) == 2 && sizeof(uint32_t) == 4);
static_assert(sizeof(std::int64_t) == 8 && sizeof(std::uintptr_t) == sizeof(void*));
static_assert(std::is_same_v<std::int_fast8_t, int8_t> && std::is_same_v<std::size_t, size_t>);
static_assert(INT8_MIN == -128 && UINT16_MAX == 65535 && INT32_MIN < 0 && UINT64_MAX == ~0ULL);
static_assert(INT64_C(1) << 40 == 1099511627776 && SIZE_MAX == UINT64_MAX && UINT32_C(1) == 1);
static_assert(CHAR_BIT == 8 && INT_MIN == -INT_MAX - 1 && LONG_MAX == LLONG_MAX && CHAR_MIN < 0);
static_assert(FLT_MAX > 3.4e38f && DBL_MAX > 1.7e308 && FLT_EPSILON == 0x1p-23f && FLT_MIN > 0);
struct TwoMembers {
  int first;
  double second;
};
static_assert(offsetof(TwoMembers, second) == 8);
static_assert(std::to_integer<int>(std::byte(3) | (std::byte(1) << 2)) == 7);
static_assert(std::is_same_v<std::nullptr_t, decltype(nullptr)>);
static_assert(alignof(std::max_align_t) >= 8);

// <limits>
static_assert(std::numeric_limits<int>::max() == INT_MAX &&
              std::numeric_limits<int>::min() == INT_MIN);
static_assert(std::numeric_limits<unsigned char>::max() == 255 &&
              std::numeric_limits<char>::digits == 7);
static_assert(std::numeric_limits<long long>::lowest() == LLONG_MIN);
static_assert(std::numeric_limits<std::uint64_t>::max() == UINT64_MAX);
static_assert(std::numeric_limits<std::uint64_t>::digits10 == 19 &&
              std::numeric_limits<int>::digits10 == 9);
static_assert(std::numeric_limits<bool>::max() && !std::numeric_limits<bool>::is_signed);
static_assert(std::numeric_limits<float>::max() == FLT_MAX &&
              std::numeric_limits<float>::lowest() == -FLT_MAX);
static_assert(std::numeric_limits<float>::infinity() > FLT_MAX);
static_assert(std::numeric_limits<double>::quiet_NaN() != std::numeric_limits<double>::quiet_NaN());
static_assert(std::numeric_limits<const float>::is_iec559 &&
              !std::numeric_limits<void>::is_specialized);

// <type_traits>
enum class Colour : unsigned short { red };
struct Base {
  virtual __device__ int f() { return 0; }
};
struct Derived final : Base {};
struct Empty {};
struct Callable {
  __device__ double operator()(int) const;
};
template <class T>
__device__ std::enable_if_t<std::is_floating_point_v<T>, int> kind(T) {
  return 1;
}
template <class T>
__device__ std::enable_if_t<std::is_integral<T>::value, int> kind(T) {
  return 2;
}
static_assert(std::is_same<std::remove_cv_t<const volatile int>, int>::value);
static_assert(std::is_same_v<std::decay_t<const int (&)[3]>, const int*>);
static_assert(std::is_same_v<std::decay_t<int(int)>, int (*)(int)>);
static_assert(std::is_same_v<std::remove_pointer_t<int* const>, int>);
static_assert(std::is_same_v<std::remove_reference_t<int&&>, int>);
static_assert(std::is_same_v<std::conditional_t<true, int, float>, int>);
static_assert(std::is_same_v<std::common_type_t<int, float, double>, double>);
static_assert(std::is_same_v<std::underlying_type_t<Colour>, unsigned short>);
static_assert(std::is_same_v<std::make_unsigned_t<const int>, const unsigned>);
static_assert(std::is_same_v<std::make_signed_t<unsigned long long>, long long>);
static_assert(std::is_same_v<std::add_lvalue_reference_t<void>, void>);
static_assert(std::is_same_v<std::add_pointer_t<int&>, int*>);
static_assert(std::is_same_v<std::invoke_result_t<Callable, int>, double>);
static_assert(std::is_invocable_v<Callable, int> && !std::is_invocable_v<Callable, Empty>);
static_assert(std::is_invocable_r_v<float, Callable, int>);
static_assert(std::is_base_of_v<Base, Derived> && std::is_convertible_v<Derived*, Base*>);
static_assert(!std::is_convertible_v<Base*, Derived*> && std::is_final_v<Derived>);
static_assert(std::is_polymorphic_v<Base> && std::is_empty_v<Empty> && std::is_enum_v<Colour>);
static_assert(std::is_trivially_copyable_v<TwoMembers> && !std::is_trivially_copyable_v<Base>);
static_assert(std::is_constructible_v<double, int> && !std::is_constructible_v<Empty, int>);
static_assert(std::is_function_v<int(int)> && !std::is_function_v<int> && std::is_object_v<int>);
static_assert(std::is_pointer_v<int* const> && std::is_array_v<int[2]> &&
              std::is_void_v<const void>);
static_assert(std::is_signed_v<float> && std::is_unsigned_v<unsigned> && !std::is_signed_v<Empty>);
static_assert(std::is_member_pointer_v<int TwoMembers::*> &&
              std::is_null_pointer_v<std::nullptr_t>);
static_assert(std::is_arithmetic_v<bool> && std::is_class_v<Empty> && std::is_reference_v<int&>);
static_assert(std::extent_v<int[2][3], 1> == 3 && std::rank_v<int[2][3]> == 2);
static_assert(std::conjunction_v<std::true_type, std::is_void<void>>);
static_assert(std::disjunction_v<std::false_type, std::true_type>);
static_assert(std::negation_v<std::false_type> && std::integral_constant<int, 3>::value == 3);
static_assert(std::alignment_of_v<double> == 8 && std::is_same_v<std::void_t<int>, void>);
static_assert(sizeof(std::aligned_storage_t<8, 8>) == 8);

// <utility>, <tuple>, <array>, <algorithm>, where they are constant expressions
template <int... values>
__device__ constexpr int sum(std::integer_sequence<int, values...>) {
  return (values + ... + 0);
}
static_assert(sum(std::make_integer_sequence<int, 5>()) == 10);
static_assert(std::index_sequence_for<int, float>::size() == 2);
static_assert(std::make_pair(1, 2.5f).second == 2.5f &&
              std::pair<int, int>(1, 2) < std::pair(1, 3));
static_assert(std::tuple_size_v<std::pair<int, char>> == 2);
static_assert(std::is_same_v<std::tuple_element_t<1, std::pair<int, char>>, char>);
constexpr auto three = std::make_tuple(1, 2.5f, 'c');
static_assert(std::get<0>(three) == 1 && std::get<float>(three) == 2.5f &&
              std::get<2>(three) == 'c');
static_assert(std::tuple_size<std::tuple<int, float>>::value == 2);
static_assert(std::is_same_v<std::tuple_element_t<1, std::tuple<int, float>>, float>);
static_assert(std::get<3>(std::tuple_cat(three, std::make_tuple(4))) == 4);
static_assert(std::make_tuple(1, 2) < std::make_tuple(1, 3) &&
              std::make_tuple(1) == std::make_tuple(1));
constexpr std::array<int, 3> numbers{3, 1, 2};
static_assert(numbers.size() == 3 && numbers[1] == 1 && std::get<2>(numbers) == 2 &&
              numbers.back() == 2);
static_assert(std::tuple_size_v<std::array<int, 3>> == 3 && std::array{1, 2}.size() == 2);
static_assert(std::min(2, 1) == 1 && std::max(2u, 3u) == 3u && std::clamp(7, 0, 5) == 5);
static_assert(std::min({3, 1, 2}) == 1 && std::max({3, 1, 2}) == 3);
static_assert(*std::max_element(numbers.begin(), numbers.end()) == 3);
static_assert(std::find(numbers.begin(), numbers.end(), 2) == numbers.begin() + 2);
static_assert(std::count(numbers.begin(), numbers.end(), 1) == 1);

template <class... T>
__device__ float total(T&&... values) {
  const auto all = std::forward_as_tuple(std::forward<T>(values)...);
  return std::apply([](const auto&... each) { return (static_cast<float>(each) + ...); }, all);
}

struct Mean {
  template <class T, class U>
  __device__ auto operator()(T a, U b) const {
    return (a + b) / 2;
  }
};

extern "C" __global__ void names(float* x, std::int32_t* n, std::size_t count) {
  assert(count > 0);
  x[0] = std::sqrt(x[1]) + std::exp(x[2]) + std::pow(x[3], 2.0f) + std::abs(x[4]) + std::fabs(x[5]);
  x[1] = std::fmax(x[1], x[2]) + std::floor(x[3]) + std::tanh(x[4]) + std::fma(x[0], x[1], x[2]);
  x[2] = std::isnan(x[0]) || std::isinf(x[1]) ? NAN : INFINITY;
  x[3] =
      std::sqrt(n[0]) + std::abs(n[1]) + static_cast<float>(M_PI) + sqrtf(x[3]) + std::log2(x[4]);
  x[4] = std::min(x[4], 1.0f) + std::max<float>(x[5], 0);
  n[0] = kind(x[0]) + kind(n[0]) + std::exchange(n[1], 3);
  std::swap(n[2], n[3]);

  std::array<float, 4> lanes{};
  lanes.fill(x[0]);
  for (auto& lane : lanes) lane += 1;
  std::fill(lanes.begin(), lanes.begin() + 2, 2.0f);
  std::copy(lanes.begin(), lanes.end(), x + 8);
  auto [a, b, c, d] = lanes;
  x[5] = a + b + c + d;

  std::pair<int, float> both = std::make_pair(n[4], x[6]);
  both.first += 1;
  std::pair<int, float> moved = std::move(both);
  const auto& [first, second] = moved;
  n[4] = first;
  x[6] = second;

  int quotient = 0;
  int remainder = 0;
  std::tie(quotient, remainder) = std::make_tuple(n[5] / 3, n[5] % 3);
  std::tie(std::ignore, n[7]) = std::make_pair(1, 2);
  std::tuple<int, float, double> mixed(1, 2.0f, 3.0);
  std::get<1>(mixed) = x[7];
  auto [i, f, g] = mixed;
  n[6] = quotient + remainder + i;
  x[7] = f + static_cast<float>(g) + std::apply(Mean(), std::make_pair(x[7], 1.0f));
}
