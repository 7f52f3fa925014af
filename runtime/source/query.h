#pragma once

#include <filesystem>
#include <vector>

#include "kiln/digest.h"
#include "kiln/program.h"
#include "kiln/request.h"
#include "kiln/target.h"
#include "source/header_search.h"

namespace kiln {

/// The first step of the key: what was asked for. REQUIRES: target is not native.
[[nodiscard]] Request request_of(const Program& program, const Target& target);

/// A program as it stands for one target on this machine: what every layer is asked with. Immutable.
struct Query {
  /// REQUIRES: target is not native.
  Query(const Program& asked, const Target& wanted,
        const std::vector<std::filesystem::path>& toolkit_dirs);

  /// Requests that agree in it, headers and their places included, may share one result.
  [[nodiscard]] Digest flight() const;

  const Program program;
  const Target target;
  const HeaderSearch search;
  const Request request;
  const Digest request_digest;
};

}  // namespace kiln
