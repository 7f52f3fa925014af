#pragma once

#include <memory>

#include "kiln/artifact.h"

namespace kiln {

/// An artifact as one call got it: several callers may share the artifact and not its origin.
struct Obtained {
  std::shared_ptr<const Artifact> artifact;
  Origin origin;
};

}  // namespace kiln
