#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache_impl.h"
#include "rows/entry_writer.h"

namespace kiln {

/// What to do with an entry whose key is stored already.
enum class IfPresent { replace, keep };

/// Stores entries in one transaction and makes room for them; gives how many it wrote.
/// `originals` are the texts of the entries: some were stored when the entries were prepared, and may be gone by now.
/// Errors: as Cache::put(); not_found where a text that an entry relies on is gone. Nothing is stored then.
Result<std::uint64_t> store(Cache::Impl& cache, std::span<const storage::PreparedEntry> entries,
                            IfPresent if_present, const std::vector<Text>& originals = {});

}  // namespace kiln
