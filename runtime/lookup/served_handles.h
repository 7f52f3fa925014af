#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <tuple>

#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/program.h"
#include "kiln/target.h"

namespace kiln {

/// What each handle was served for each target, as long as this process keeps the artifact: so that asking
/// once more is one look-up here. Safe to use from any thread.
class ServedHandles {
 public:
  /// Nothing where it was not served, or the artifact is gone. REQUIRES: target is not native.
  [[nodiscard]] std::shared_ptr<const Artifact> find(const Program& program,
                                                     const Target& target) const;

  void remember(const Program& program, const Target& target,
                const std::shared_ptr<const Artifact>& artifact);

  /// Whatever was served this key is looked for anew.
  void forget(const Digest& key);

 private:
  using Asked = std::tuple<std::uint64_t, ImageKind, std::string>;

  mutable std::shared_mutex mutex_;
  std::map<Asked, std::weak_ptr<const Artifact>> served_;
};

}  // namespace kiln
