#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kiln/artifact.h"
#include "launch/loaded_image.h"

namespace kiln {

/// Which image, and for which device.
using ImageIdentity = std::pair<Digest, CUdevice>;

using LoadedImages = std::map<ImageIdentity, std::unique_ptr<LoadedImage>>;

/// The images of runtimes that have ended, unloaded. A Kernel or a Module may outlive its runtime by mistake: it finds an
/// error here, and not somebody else's memory. A runtime that loads the same image later takes the object over: of an image
/// there are never more objects than were loaded at one time. Safe to use from any thread.
class EndedImages {
 public:
  using Node = LoadedImages::node_type;

  /// A forked child has its own. Never destroyed: handles may outlive everything.
  [[nodiscard]] static EndedImages& of_process();

  /// Takes nothing from the heap: a runtime's end cannot fail. REQUIRES: it has ended.
  void keep(Node image) noexcept;

  /// One that is of this artifact; empty where there is none.
  [[nodiscard]] Node take(const ImageIdentity& identity, const Artifact& artifact);

 private:
  std::mutex mutex_;
  std::multimap<ImageIdentity, std::unique_ptr<LoadedImage>> images_;
};

}  // namespace kiln
