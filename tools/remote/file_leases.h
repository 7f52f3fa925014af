#pragma once

#include <memory>

#include "kiln/error.h"
#include "leases.h"
#include "remote/remote_address.h"

namespace kiln::remote {

/// Leases in a folder that machines share, beside its store: of each name the latest lives in the folder of the greatest number. Who
/// makes that folder has it, and writes a word there again and again; others take the lease for ended once they have seen the same
/// word for as long as leases last. So no clock is compared with another machine's. Nothing is locked. `create`: their folder is made
/// where there is none. `lasting` is for tests. Errors: as of StoreFolder; not_found where there is no such folder.
[[nodiscard]] Result<std::unique_ptr<Leases>> open_file_leases(
    const RemoteAddress& address, bool create, std::chrono::milliseconds lasting = Leases::lasting);

}  // namespace kiln::remote
