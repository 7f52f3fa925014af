#include "kiln/numbers.h"

#include <algorithm>
#include <bit>

namespace kiln {
namespace {

constexpr int float_bias = 127;
constexpr int float_mantissa_bits = 23;
constexpr std::uint32_t float_infinity = 0x7f800000;
constexpr std::uint32_t float_magnitude = 0x7fffffff;

/// A number narrower than a float, without its sign.
struct Format {
  int mantissa_bits;
  int bias;
  std::uint32_t largest;  ///< What too large becomes.
  std::uint32_t nan;
};

constexpr Format half_format{10, 15, 0x7c00, 0x7e00};
constexpr Format e4m3_format{3, 7, 0x7e, 0x7f};
constexpr Format e5m2_format{2, 15, 0x7b, 0x7f};

bool is_nan(std::uint32_t bits) { return (bits & float_magnitude) > float_infinity; }

/// value / 2^shift, rounded to nearest, ties to even.
std::uint32_t shift_rounded(std::uint32_t value, int shift) {
  const std::uint32_t below_half = (std::uint32_t{1} << (shift - 1)) - 1;
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + below_half + odd) >> shift;
}

/// The magnitude of a float, which is given by its bits, in this format.
std::uint32_t narrowed(std::uint32_t bits, const Format& format) {
  const std::uint32_t magnitude = bits & float_magnitude;
  const int exponent = static_cast<int>(magnitude >> float_mantissa_bits) - float_bias;
  const int smallest = 1 - format.bias;
  const int dropped = float_mantissa_bits - format.mantissa_bits;
  if (is_nan(bits)) return format.nan;
  if (exponent >= smallest) {
    const auto rebias = static_cast<std::uint32_t>(float_bias - format.bias) << float_mantissa_bits;
    // A carry out of the mantissa raises the exponent, as it should.
    return std::min(shift_rounded(magnitude - rebias, dropped), format.largest);
  }
  const int shift = dropped + smallest - exponent;
  if (shift > float_mantissa_bits + 1) return 0;
  const std::uint32_t implicit = std::uint32_t{1} << float_mantissa_bits;
  return shift_rounded((magnitude & (implicit - 1)) | implicit, shift);
}

/// The float of these sign and magnitude bits; `unit` is the value of the last bit of a subnormal.
float widened(std::uint32_t sign, std::uint32_t magnitude, const Format& format, float unit) {
  const std::uint32_t subnormals = std::uint32_t{1} << format.mantissa_bits;
  const auto rebias = static_cast<std::uint32_t>(float_bias - format.bias) << float_mantissa_bits;
  // Neither way makes a subnormal float, which a program may have told its processor to flush.
  const std::uint32_t bits =
      magnitude < subnormals ? std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * unit)
                             : (magnitude << (float_mantissa_bits - format.mantissa_bits)) + rebias;
  return std::bit_cast<float>(sign << 31 | bits);
}

float half_value(std::uint16_t bits) {
  const std::uint32_t sign = bits >> 15;
  const std::uint32_t magnitude = bits & 0x7fff;
  if (magnitude < 0x7c00) return widened(sign, magnitude, half_format, 0x1p-24F);
  return std::bit_cast<float>(sign << 31 | float_infinity | (magnitude & 0x3ff) << 13);
}

std::uint8_t float8_bits(float value, const Format& format) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = is_nan(bits) ? 0 : bits >> 31;
  return static_cast<std::uint8_t>(sign << 7 | narrowed(bits, format));
}

template <class Number, class Bits>
Number number_of(Bits bits) {
  Number number;
  number.bits = bits;
  return number;
}

}  // namespace

Half::Half(float value) noexcept {
  const auto from = std::bit_cast<std::uint32_t>(value);
  bits = static_cast<std::uint16_t>((from >> 31) << 15 | narrowed(from, half_format));
}

Half::operator float() const noexcept { return half_value(bits); }

Half Half::from_bits(std::uint16_t bits) noexcept { return number_of<Half>(bits); }

BFloat16::BFloat16(float value) noexcept {
  const auto from = std::bit_cast<std::uint32_t>(value);
  bits = static_cast<std::uint16_t>(is_nan(from) ? (from >> 16) | 0x40 : shift_rounded(from, 16));
}

BFloat16::operator float() const noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

BFloat16 BFloat16::from_bits(std::uint16_t bits) noexcept { return number_of<BFloat16>(bits); }

Float8E4M3::Float8E4M3(float value) noexcept : bits(float8_bits(value, e4m3_format)) {}

Float8E4M3::operator float() const noexcept {
  const std::uint32_t magnitude = bits & 0x7f;
  if (magnitude == e4m3_format.nan) return std::bit_cast<float>(float_magnitude);
  return widened(bits >> 7, magnitude, e4m3_format, 0x1p-9F);
}

Float8E4M3 Float8E4M3::from_bits(std::uint8_t bits) noexcept { return number_of<Float8E4M3>(bits); }

Float8E5M2::Float8E5M2(float value) noexcept : bits(float8_bits(value, e5m2_format)) {}

// It is the upper half of a binary16.
Float8E5M2::operator float() const noexcept {
  return half_value(static_cast<std::uint16_t>(bits << 8));
}

Float8E5M2 Float8E5M2::from_bits(std::uint8_t bits) noexcept { return number_of<Float8E5M2>(bits); }

}  // namespace kiln
