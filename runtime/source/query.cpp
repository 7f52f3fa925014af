#include "source/query.h"

#include <algorithm>
#include <string>

#include "kiln/headers.h"

namespace kiln {

namespace {

bool has_standard_headers(const Program& program) {
  const auto* standard = standard_headers().headers().data();
  return std::any_of(program.headers().begin(), program.headers().end(),
                     [&](const HeaderSet& set) { return set.headers().data() == standard; });
}

}  // namespace

Request request_of(const Program& program, const Target& target) {
  return {program.name(),           program.source_digest(),
          program.source().size(),  program.options(),
          program.kernels(),        target.arch(),
          to_string(target.kind()), has_standard_headers(program)};
}

Query::Query(const Program& asked, const Target& wanted,
             const std::vector<std::filesystem::path>& toolkit_dirs)
    : program(asked),
      target(wanted),
      search(asked, asked.toolkit_headers() ? toolkit_dirs : std::vector<std::filesystem::path>()),
      request(request_of(asked, wanted)),
      request_digest(digest_of(request.material())) {}

Digest Query::flight() const {
  return digest_of(std::string(request_digest.view()).append(search.surroundings().view()));
}

}  // namespace kiln
