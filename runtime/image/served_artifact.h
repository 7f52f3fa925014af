#pragma once

#include <memory>

#include "kiln/artifact.h"

namespace kiln {

/// The result of one request: the artifact, which others may share, and where this request got it from.
struct ServedArtifact {
  std::shared_ptr<const Artifact> artifact;
  Origin origin;
};

}  // namespace kiln
