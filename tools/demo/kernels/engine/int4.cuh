// Weights of four bits, eight in a word, the first in the lowest bits. A stored q stands for q - 8.
#pragma once

namespace engine {

inline constexpr int weights_per_word = 8;

// What unpack_biased() adds to the value that a stored weight stands for.
inline constexpr float int4_bias = 24.0f;

// The weight at that index plus int4_bias. The four bits become the top of the mantissa of a float
// in [16, 32), which spares the integer conversion; whoever sums products takes the bias out once
// for all of them.
__device__ __forceinline__ float unpack_biased(unsigned word, int index) {
  const int shift = 19 - 4 * index;
  const unsigned mantissa = shift >= 0 ? word << shift : word >> -shift;
  return __uint_as_float(0x41800000u | (mantissa & 0x00780000u));
}

}  // namespace engine
