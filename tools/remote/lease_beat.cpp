#include "lease_beat.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "server_words.h"

namespace kiln::remote {
namespace {

constexpr std::size_t digits_of_tokens = 32;
/// In the order of LeaseBeat::State.
constexpr std::array<std::string_view, 3> state_words = {"held", "failed", "done"};

std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

std::string encode_beat(const LeaseBeat& beat) {
  return fmt::format("{} {} {}\n", beat.token, state_words[static_cast<std::size_t>(beat.state)],
                     beat.count);
}

LeaseBeat decode_beat(std::string_view text) {
  const auto token = take_word(text);
  const auto* const state = std::ranges::find(state_words, take_word(text));
  if (!is_hexadecimal(token, digits_of_tokens) || state == state_words.end()) return {};
  LeaseBeat beat{std::string(token), static_cast<LeaseBeat::State>(state - state_words.begin())};
  for (const char digit : text) {
    // It need only differ from the one before.
    if (digit >= '0' && digit <= '9') beat.count = beat.count * 10 + (digit - '0');
  }
  return beat;
}

}  // namespace kiln::remote
