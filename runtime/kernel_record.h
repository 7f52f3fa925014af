#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "vendor/driver.h"

namespace kiln {

/// Told of each launch that failed, on the thread that launched.
using LaunchFailureCallback = std::function<void(const Error&)>;

/// What a Kernel handle points to: all that a launch needs to know. Immutable while it can be
/// reached.
struct KernelRecord {
  KernelInfo info;
  std::string arch;  ///< Of the image.
  std::shared_ptr<const vendor::Driver> driver;
  CUdevice device = 0;           ///< The one it was loaded for.
  CUkernel kernel = nullptr;     ///< Lives as long as its module.
  LaunchFailureCallback failed;  ///< May be empty.
};

}  // namespace kiln
