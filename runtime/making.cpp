#include "making.h"

#include <utility>

#include <fmt/format.h>

namespace kiln {

Explanation Making::explain_miss(std::string why_not) {
  Explanation explanation;
  explanation.program = request.program;
  explanation.arch = request.arch;
  explanation.kind = request.kind;
  explanation.request = request_digest;
  explanation.reason = std::move(why_not);
  return explanation;
}

tl::unexpected<Error> Making::cancelled() const {
  return fail(ErrorCode::cancelled,
              fmt::format("{} for {}: {} it was cancelled", request.program, request.arch, doing));
}

}  // namespace kiln
