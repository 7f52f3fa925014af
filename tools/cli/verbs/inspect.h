#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/cache.h"
#include "kiln/runtime.h"
#include "kiln/settings.h"
#include "verbs.h"

namespace kiln::cli {

/// What to do where nothing is kept yet.
inline constexpr const char* ways_to_fill =
    "kiln compile FILE --arch A, kiln prewarm MANIFEST, or a program that uses kiln";

/// What the command line says of settings: the cache; and that files of settings are read.
[[nodiscard]] RuntimeOptions asked_settings(const Globals& globals);

/// What every runtime of the tool is set up with: the command line's cache, and the tool's own log.
[[nodiscard]] RuntimeOptions runtime_options(const Globals& globals);

/// All settings, the command line first; warns as warn_of_unread(). Errors: invalid_setting; cache_unusable where no cache
/// is named.
[[nodiscard]] Settings settings_of(const Globals& globals);

/// Where the settings name bundles, how to look at one, to follow "nothing is kept yet"; else empty. A bundle serves
/// beside the cache, and the verbs that look show one of them at a time.
[[nodiscard]] std::string way_to_bundles(const Settings& settings);

/// Opens the cache in a folder. Errors: those of Cache::open(), "no cache at" going on with what may help; not_found where
/// it is a store, with how to read that.
[[nodiscard]] Result<Cache> open_folder(const std::filesystem::path& folder, CacheOptions options,
                                        std::string_view where_there_is_none);

/// Warns of the files of settings that the user may not read, once.
void warn_of_unread(const Globals& globals, const Settings& settings);

/// Whether they name a bundle where a cache's folder may stand.
[[nodiscard]] bool names_bundle(const Settings& settings);

/// For verbs that write: a bundle is never changed. Errors: cache_unusable, naming the file and what to do.
void refuse_bundle(const Settings& settings);

/// The cache, or the bundle, that the command line and the settings name, to be looked at and left as
/// it is. Errors: invalid_setting, cache_unusable.
[[nodiscard]] Result<Cache> open_for_inspection(const Globals& globals);

/// The same cache, to be changed. Makes none where there is none; a new generation takes a corrupt file's
/// place. Errors: also not_found; cache_unusable where the settings say that nothing is written.
[[nodiscard]] Cache open_for_change(const Globals& globals);

/// The same cache, to be added to; made where there is none. Errors: invalid_setting, cache_unusable.
[[nodiscard]] Cache open_to_fill(const Globals& globals);

/// A runtime that is served from the same cache or bundle, and makes and changes nothing there. Errors: invalid_setting,
/// cache_unusable.
[[nodiscard]] Runtime open_runtime_to_look(const Globals& globals);

}  // namespace kiln::cli
