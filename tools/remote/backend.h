#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/exchange.h"
#include "kiln/signing.h"
#include "leases.h"
#include "remote/remote_address.h"

namespace kiln::remote {

/// Of a request; with the object of the only hint that can be read, where there is one and it is small enough.
struct HintsAndObject {
  std::vector<StoreHint> hints;
  std::optional<std::string> object = {};
};

/// One connection to a server. Serves one thread at a time.
struct Backend {
  std::unique_ptr<ObjectStore> objects;
  std::unique_ptr<Leases> leases;  ///< Null where the server can give none.
  /// Whether it is still what the address names: a folder may be made anew, or mounted. Empty where that is always so.
  std::function<bool()> is_current = {};
  /// Both in one round trip, with an object of so many bytes at most; empty where the server cannot do that.
  std::function<Result<HintsAndObject>(const Digest&, std::size_t most, std::uint64_t most_bytes)>
      hints_and_object = {};
  bool writable =
      true;  ///< False of a folder that was opened to be read: nothing that is missing is made there.
};

/// Connects when something is first asked. Each call ends within the address's timeout, or with io_failed, and a call after a
/// failed one connects anew. Errors: as open_file_store(), for a folder.
/// `of_folder`: whose files serve, where it is one, and whether it is made.
[[nodiscard]] Result<Backend> open_backend(const RemoteAddress& address,
                                           const FileStoreOptions& of_folder);

}  // namespace kiln::remote
