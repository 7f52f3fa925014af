#include "source/text_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "source/text_search.h"

namespace kiln {

namespace {

/// Characters of a run. Names of headers are hardly ever shorter, and few that long stand in an image by chance.
constexpr std::size_t run_length = 6;
constexpr unsigned word_bits = 64;
constexpr unsigned least_bits = 10;
constexpr unsigned most_bits = 23;  ///< A mebibyte, which caches of processors hold.

/// Its upper bits are well mixed (Fibonacci hashing: the multiplier is 2^64 over the golden ratio).
std::uint64_t hash_of_run(const char* begin) {
  // Two loads; a copy of six bytes goes through memory, which takes ten times as long.
  std::uint32_t first = 0;
  std::uint16_t second = 0;
  static_assert(sizeof first + sizeof second == run_length);
  std::memcpy(&first, begin, sizeof first);
  std::memcpy(&second, begin + sizeof first, sizeof second);
  return (first | std::uint64_t{second} << 32) * 0x9E3779B97F4A7C15U;
}

template <class Visit>
bool all_runs(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at + run_length <= text.size(); ++at)
    if (!visit(hash_of_run(text.data() + at))) return false;
  return true;
}

}  // namespace

TextIndex::TextIndex(std::string_view text) : text_(text) {
  // Eight bits a character: hardly any run that is asked for meets another's.
  const auto bits =
      std::clamp(static_cast<unsigned>(std::bit_width(text.size())) + 3, least_bits, most_bits);
  shift_ = word_bits - bits;
  bits_.resize((std::size_t{1} << bits) / word_bits);
  all_runs(text, [&](std::uint64_t hash) {
    const auto bit = hash >> shift_;
    bits_[bit / word_bits] |= std::uint64_t{1} << (bit % word_bits);
    return true;
  });
}

bool TextIndex::holds(std::string_view part) const {
  return may_hold(part) && kiln::holds(text_, part);
}

bool TextIndex::may_hold(std::string_view part) const {
  return all_runs(part, [&](std::uint64_t hash) {
    const auto bit = hash >> shift_;
    return (bits_[bit / word_bits] >> (bit % word_bits) & 1U) != 0;
  });
}

}  // namespace kiln
