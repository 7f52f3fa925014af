#pragma once

#include <tuple>

#include "kiln/request.h"
#include "support/differing_fields.h"

namespace kiln::test {

/// All fields of a request. One that is added wants a name here, and a row in each test that uses this.
inline auto fields_of(const Request& request) {
  const auto& [program, source, source_bytes, options, expressions, arch, kind, standard_headers,
               engine] = request;
  return std::tie(program, source, source_bytes, options, expressions, arch, kind, standard_headers,
                  engine);
}

}  // namespace kiln::test
