#include "source/fingerprint_query.h"

#include <string>

#include "lookup/fingerprint.h"

namespace kiln {

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
