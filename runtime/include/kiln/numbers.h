#pragma once

// kiln/numbers.h: the device's narrow numbers on the host.
//
//     const kiln::Half half(0.5f);  // as __half holds it
//     assert(static_cast<float>(half) == 0.5f);
//     kernel.launch(stream, {.block = {256}}, x, half).value();

#include <cstdint>

#include "kiln/export.h"

namespace KILN_EXPORT kiln {

// The device's narrow floating-point numbers, for arguments that the host has no type for. Each is a plain
// value of the device type's size and alignment. Two are equal where their bits are.

/// An IEEE binary16 number as the device's `__half` holds it.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  /// Rounds to nearest, ties to even. A value that is too large becomes infinity; a NaN stays a NaN.
  explicit Half(float value) noexcept;
  explicit operator float() const noexcept;
  [[nodiscard]] static Half from_bits(std::uint16_t bits) noexcept;

  bool operator==(const Half&) const = default;
};

/// The upper half of a float, as the device's `__nv_bfloat16` holds it.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  /// Rounds to nearest, ties to even. A value that is too large becomes infinity; a NaN stays a NaN.
  explicit BFloat16(float value) noexcept;
  explicit operator float() const noexcept;
  [[nodiscard]] static BFloat16 from_bits(std::uint16_t bits) noexcept;

  bool operator==(const BFloat16&) const = default;
};

/// Four bits of exponent and three of mantissa, as the device's `__nv_fp8_e4m3` holds them: no
/// infinity, 448 at most.
struct Float8E4M3 {
  std::uint8_t bits = 0;

  Float8E4M3() = default;
  /// Converts as CUDA's own constructor does: rounds to nearest, ties to even. A value that is too large,
  /// infinity included, becomes the largest number. Every NaN becomes 0x7f.
  explicit Float8E4M3(float value) noexcept;
  explicit operator float() const noexcept;
  [[nodiscard]] static Float8E4M3 from_bits(std::uint8_t bits) noexcept;

  bool operator==(const Float8E4M3&) const = default;
};

/// Five bits of exponent and two of mantissa, as the device's `__nv_fp8_e5m2` holds them: 57,344 at most.
/// There is an infinity, which no conversion makes.
struct Float8E5M2 {
  std::uint8_t bits = 0;

  Float8E5M2() = default;
  /// Converts as CUDA's own constructor does: rounds to nearest, ties to even. A value that is too large,
  /// infinity included, becomes the largest number. Every NaN becomes 0x7f.
  explicit Float8E5M2(float value) noexcept;
  explicit operator float() const noexcept;
  [[nodiscard]] static Float8E5M2 from_bits(std::uint8_t bits) noexcept;

  bool operator==(const Float8E5M2&) const = default;
};

}  // namespace kiln
