#pragma once

#include <string>

#include "remote/remote_address.h"

namespace kiln::remote {

/// A digest of what a helper of this process takes from its environment to serve that store: keys, proxies, certificates. Empty where
/// that is nothing.
[[nodiscard]] std::string environment_for(const RemoteAddress& address);

}  // namespace kiln::remote
