#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

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
  template <class Text>
  struct Asked {
    std::uint64_t program = 0;
    ImageKind kind = ImageKind::cubin;
    Text arch;
  };
  /// To look up takes no copy of the architecture.
  struct Before {
    using is_transparent = void;
    template <class One, class Other>
    bool operator()(const Asked<One>& one, const Asked<Other>& other) const noexcept {
      if (one.program != other.program) return one.program < other.program;
      if (one.kind != other.kind) return one.kind < other.kind;
      return std::string_view(one.arch) < std::string_view(other.arch);
    }
  };

  mutable std::shared_mutex mutex_;
  std::map<Asked<std::string>, std::weak_ptr<const Artifact>, Before> served_;
};

}  // namespace kiln
