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

/// The images of runtimes that have ended, unloaded. A Kernel or a Module may outlive its runtime by mistake: it finds an
/// error here, and not somebody else's memory. A runtime that loads the same image later takes the object over, so that
/// there are never more of them than were loaded at one time. Safe to use from any thread.
class EndedImages {
 public:
  /// Never destroyed: handles may outlive everything.
  [[nodiscard]] static EndedImages& of_process();

  /// REQUIRES: it has ended.
  void keep(const ImageIdentity& identity, std::unique_ptr<LoadedImage> image);

  /// One that is of this artifact; nullptr where there is none.
  [[nodiscard]] std::unique_ptr<LoadedImage> take(const ImageIdentity& identity,
                                                  const Artifact& artifact);

 private:
  std::mutex mutex_;
  std::multimap<ImageIdentity, std::unique_ptr<LoadedImage>> images_;
};

}  // namespace kiln
