#pragma once

#include <optional>
#include <string>
#include <vector>

#include "file/sqlite.h"
#include "kiln/digest.h"
#include "kiln/signing.h"

namespace kiln::storage {

// The signatures of an entry stand beside the entries, in the table `signatures`: one for each signer. They go by the
// entry's key, as kernels do and for the same reasons (kernel_list.h). Their records are as they were made
// (record/signature_codec.h): who damages one makes it one of nobody's.
//
// They give false or nothing where SQLite refused something.

/// Makes these the entry's signatures, in the place of those it had: the last 16. What is no signature's record is
/// left out. Makes the table where it needs it and can. Runs inside the caller's transaction, as the others that write
/// do.
[[nodiscard]] bool write_signatures(Connection& connection, const Digest& key,
                                    const std::vector<std::string>& records);

[[nodiscard]] bool remove_signatures(Connection& connection, const Digest& key);

/// Removes the signatures of entries that are gone.
[[nodiscard]] bool remove_signatures_of_none(Connection& connection);

/// Those of an entry that name one of these keys; where there are no keys, all. A stranger may have put there any
/// number of any size: of each name one, else 16 at most, of 64 KiB at most.
[[nodiscard]] std::optional<std::vector<std::string>> read_signatures(Connection& connection,
                                                                      const Digest& key,
                                                                      const TrustedKeys& keys);

}  // namespace kiln::storage
