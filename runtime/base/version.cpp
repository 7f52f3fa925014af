#include "kiln/version.h"

#define KILN_TEXT_OF_ONE(number) #number
#define KILN_TEXT_OF(number) KILN_TEXT_OF_ONE(number)

namespace kiln {

const char* version() noexcept {
  return KILN_TEXT_OF(KILN_VERSION_MAJOR) "." KILN_TEXT_OF(KILN_VERSION_MINOR) "." KILN_TEXT_OF(
      KILN_VERSION_PATCH);
}

}  // namespace kiln
