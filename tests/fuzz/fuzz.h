#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// What a fuzzer, or the replay of a corpus, gives one input after another.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kiln::fuzz {

inline std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process, so that the fuzzer keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Takes bytes off the front of an input; zeros when there are none left.
class Input {
 public:
  explicit Input(std::string_view bytes) noexcept : rest_(bytes) {}

  /// Little-endian, of this many bytes.
  std::uint64_t number(std::size_t size) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size && !rest_.empty(); ++i) {
      value |= std::uint64_t{static_cast<std::uint8_t>(rest_.front())} << (8 * i);
      rest_.remove_prefix(1);
    }
    return value;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace kiln::fuzz
