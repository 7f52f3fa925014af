#include <cstdint>

#include <fmt/format.h>

#include "json.h"
#include "kiln/exchange.h"
#include "kiln/size.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/store.h"

namespace kiln::cli {

namespace {

GcOptions parse(const GcWords& words, std::uint64_t usual_cap) {
  GcOptions options{.dry_run = words.dry_run};
  if (!words.max_size.empty()) {
    options.max_bytes = parse_bytes(words.max_size);
    if (!options.max_bytes) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("--max-size {}: a size is a number and a unit, less than 16 EiB, such as "
                         "500M, 1.5G or 5GiB",
                         words.max_size));
    }
  }
  if (!words.older_than.empty()) options.older_than = age_of("--older-than", words.older_than);
  if (!options.max_bytes && !options.older_than) options.max_bytes = usual_cap;
  return options;
}

ExitCode collect_store(const Globals& globals, const GcWords& words) {
  if (words.max_size.empty() && words.older_than.empty())
    refuse(ErrorCode::invalid_argument,
           "--store: say how much to leave, with --max-size or --older-than");
  const auto store =
      open_store(globals, *words.store, words.dry_run ? StoreUse::look : StoreUse::read);
  const auto removed = store.objects->collect(parse(words, 0)).value();
  print_report(globals,
               {{"store", store.url},
                {"objects", removed.entries},
                {"bytes", removed.bytes},
                {"dry_run", words.dry_run}},
               fmt::format("{} {} objects (entries, sources, headers), {}\n",
                           words.dry_run ? "would remove" : "removed", removed.entries,
                           format_bytes(removed.bytes)));
  return ExitCode::done;
}

}  // namespace

ExitCode collect(const Globals& globals, const GcWords& words) {
  if (words.store) return collect_store(globals, words);
  const auto options = parse(words, settings_of(globals).cache_max_bytes);
  auto cache = words.dry_run ? open_for_inspection(globals).value() : open_for_change(globals);
  const auto removed = cache.collect(options).value();
  print_report(
      globals, removed_json(removed, words.dry_run),
      fmt::format("{} {}, {} of images, and the sources and headers that only they had\n",
                  words.dry_run ? "would remove" : "removed",
                  counted(removed.entries, "entry", "entries"), format_bytes(removed.bytes)));
  return ExitCode::done;
}

}  // namespace kiln::cli
