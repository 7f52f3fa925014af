#include "cache_impl.h"

namespace kiln {

Result<VerifyReport> Cache::Impl::verify(bool) {
  return fail(ErrorCode::cache_unusable, "verify is not built yet");
}

}  // namespace kiln
