// A library that takes longer to load than a fork waits for.

#include <unistd.h>

namespace {

[[maybe_unused]] const unsigned left = ::sleep(3);

}  // namespace
