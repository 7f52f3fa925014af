#pragma once

#include <functional>
#include <memory>

#include "kiln/error.h"
#include "kiln/exchange.h"
#include "kiln/signing.h"
#include "leases.h"
#include "remote/remote_address.h"

namespace kiln::remote {

/// One connection to a server. Serves one thread at a time.
struct Backend {
  std::unique_ptr<ObjectStore> objects;
  std::unique_ptr<Leases> leases;  ///< Null where the server can give none.
  /// Whether it is still what the address names: a folder may be made anew, or mounted. Empty where that is always so.
  std::function<bool()> is_current = {};
  bool writable =
      true;  ///< False of a folder that was opened to be read: nothing that is missing is made there.
};

/// Connects when something is first asked. Each call ends within the address's timeout, or with io_failed, and a call after a
/// failed one connects anew. Errors: as open_file_store(), for a folder.
/// `of_folder`: whose files serve, where it is one, and whether it is made.
[[nodiscard]] Result<Backend> open_backend(const RemoteAddress& address,
                                           const FileStoreOptions& of_folder);

}  // namespace kiln::remote
