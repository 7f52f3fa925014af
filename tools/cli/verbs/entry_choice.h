#pragma once

#include <string>

#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "words.h"

namespace kiln::cli {

/// The key of the one entry that a word of the command line names. The first of these that any entry fits decides; a few digits
/// that begin a key and are the whole name of something else are ambiguous:
///
///   1. a key, or the first digits of one;
///   2. the name of a program;
///   3. a kernel's expression, in which spaces do not matter, or its symbol;
///   4. a shell's glob for any of these names.
///
/// 3 and 4 read the kernels of all entries. Errors: invalid_argument for the empty word; ambiguous, whose log lists the first
/// of the entries by their keys; not_found, naming what was probably meant; cache_unusable, io_failed.
[[nodiscard]] Result<Digest> choose_entry(Cache& cache, const std::string& word);

/// The same; of several that fit, where the words ask for it, the one that was made last. Errors: also ambiguous where
/// nothing tells which that is, as in a bundle.
[[nodiscard]] Result<Digest> choose_entry(Cache& cache, const EntryWords& words);

/// The whole of that entry. Errors: as choose_entry() and Cache::entry().
[[nodiscard]] StoredEntry find_entry(Cache& cache, const EntryWords& words);

}  // namespace kiln::cli
