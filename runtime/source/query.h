#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/digest.h"
#include "kiln/program.h"
#include "kiln/request.h"
#include "kiln/target.h"
#include "source/header_search.h"

namespace kiln {

/// The first step of the key: what was asked for, and by which engine. REQUIRES: target is not native.
[[nodiscard]] Request request_of(const Program& program, const Target& target,
                                 const std::string& engine);

/// A program for one target on this machine. Every layer is asked with it. Immutable.
struct Query {
  /// REQUIRES: target is not native.
  Query(const Program& asked, const Target& wanted,
        const std::vector<std::filesystem::path>& toolkit_dirs, const std::string& engine);

  /// Names the request, the embedded headers and the include directories. Queries that agree in it may share one result, if
  /// they find the same headers there. It takes in every embedded header, so a hit does without it.
  [[nodiscard]] Digest flight() const;

  const Program program;
  const Target target;
  const HeaderSearch search;
  const Request request;
  const Digest request_digest;
};

}  // namespace kiln
