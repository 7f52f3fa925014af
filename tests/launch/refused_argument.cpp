// Does not compile, and says why: each definition is one argument that no kernel, or no launch, can be given.

#include <array>
#include <span>
#include <string>

#include "kiln/launch.h"

struct alignas(256) TooAligned {
  char bytes[256];
};

kiln::Args arguments() {
#if defined(STRING_LITERAL)
  return kiln::Args("text");
#elif defined(ARRAY)
  const int values[3] = {1, 2, 3};
  return kiln::Args(values);
#elif defined(NOT_COPYABLE)
  return kiln::Args(std::string("text"));
#elif defined(LONG_DOUBLE)
  return kiln::Args(1.0L);
#elif defined(NOT_COPYABLE_ELEMENT)
  return kiln::Args(std::span<const std::string>());
#elif defined(TOO_LARGE)
  static_cast<void>(kiln::Kernel(*static_cast<kiln::KernelRecord*>(nullptr))
                        .launch(nullptr, {}, std::array<char, 32000>{}, std::array<char, 1000>{}));
  return {};
#elif defined(BARE_NUMBERS)
  static_cast<void>(
      kiln::Kernel(*static_cast<kiln::KernelRecord*>(nullptr)).launch(nullptr, {4, 32}));
  return {};
#elif defined(TOO_ALIGNED)
  return kiln::Args(TooAligned{});
#endif
}
