#include "sha256.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace kiln::remote {

namespace {

constexpr std::size_t block_bytes = 64;

// The numbers of FIPS 180-4.
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

constexpr State first_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t word = 0;
  for (std::size_t at = 0; at < 4; ++at) word = word << 8 | static_cast<unsigned char>(bytes[at]);
  return word;
}

/// REQUIRES: block.size() == block_bytes.
void mix(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t at = 0; at < 16; ++at) words[at] = big_endian(block.data() + 4 * at);
  for (std::size_t at = 16; at < 64; ++at) {
    const auto near = words[at - 15];
    const auto far = words[at - 2];
    words[at] = words[at - 16] + (std::rotr(near, 7) ^ std::rotr(near, 18) ^ near >> 3) +
                words[at - 7] + (std::rotr(far, 17) ^ std::rotr(far, 19) ^ far >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t at = 0; at < 64; ++at) {
    const auto first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                       ((e & f) ^ (~e & g)) + round_constants[at] + words[at];
    const auto second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t at = 0; at < state.size(); ++at) state[at] += mixed[at];
}

/// The last bytes, a one, zeros, and the length in bits.
std::string padded(std::string_view rest, std::uint64_t all_bytes) {
  std::string end(rest);
  end += '\x80';
  while (end.size() % block_bytes != block_bytes - 8) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(all_bytes * 8 >> shift);
  return end;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  auto state = first_state;
  const auto whole = bytes.size() - bytes.size() % block_bytes;
  for (std::size_t at = 0; at < whole; at += block_bytes) mix(state, bytes.substr(at, block_bytes));
  const auto end = padded(bytes.substr(whole), bytes.size());
  for (std::size_t at = 0; at < end.size(); at += block_bytes)
    mix(state, std::string_view(end).substr(at, block_bytes));
  std::string hex;
  for (const auto word : state) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace kiln::remote
