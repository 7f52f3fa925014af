#include "source/query.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "kiln/headers.h"

namespace kiln {

namespace {

bool has_standard_headers(const Program& program) {
  const auto* standard = standard_headers().headers().data();
  return std::any_of(program.headers().begin(), program.headers().end(),
                     [&](const HeaderSet& set) { return set.headers().data() == standard; });
}

// Of a source that a word stands for, nobody need know more.
std::uint64_t source_bytes_of(const Program& program) {
  return program.source_word().empty() ? program.source().size() : 0;
}

}  // namespace

Request request_of(const Program& program, const Target& target, const std::string& engine) {
  return {program.name(),
          program.source_digest(),
          source_bytes_of(program),
          program.options(),
          program.kernels(),
          target.arch(),
          to_string(target.kind()),
          has_standard_headers(program),
          engine};
}

Query::Query(const Program& asked, const Target& wanted,
             const std::vector<std::filesystem::path>& toolkit_dirs, const std::string& engine)
    : program(asked),
      target(wanted),
      search(asked, asked.toolkit_headers() ? toolkit_dirs : std::vector<std::filesystem::path>()),
      request(request_of(asked, wanted, engine)),
      request_digest(digest_of(request.material())) {}

Digest Query::flight() const {
  return digest_of(std::string(request_digest.view()).append(search.surroundings().view()));
}

}  // namespace kiln
