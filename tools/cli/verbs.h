#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "exit_code.h"
#include "kiln/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace kiln::cli {

/// What may be said before or after any verb.
struct Globals {
  std::optional<std::filesystem::path> cache;
  bool json = false;
  bool quiet = false;
};

/// The work of the verb on the command line; set while it is parsed, run afterwards.
using Action = std::function<Result<ExitCode>()>;

// Each declares its verb and the words that belong to it. `globals` and `chosen` must outlive `app`.
void add_compile(CLI::App& app, const Globals& globals, Action& chosen);
void add_link(CLI::App& app, const Globals& globals, Action& chosen);
void add_explain(CLI::App& app, const Globals& globals, Action& chosen);
void add_prewarm(CLI::App& app, const Globals& globals, Action& chosen);
void add_ls(CLI::App& app, const Globals& globals, Action& chosen);
void add_show(CLI::App& app, const Globals& globals, Action& chosen);
void add_extract(CLI::App& app, const Globals& globals, Action& chosen);
void add_stats(CLI::App& app, const Globals& globals, Action& chosen);
void add_verify(CLI::App& app, const Globals& globals, Action& chosen);
void add_gc(CLI::App& app, const Globals& globals, Action& chosen);
void add_clear(CLI::App& app, const Globals& globals, Action& chosen);
void add_pin(CLI::App& app, const Globals& globals, Action& chosen);
void add_unpin(CLI::App& app, const Globals& globals, Action& chosen);
void add_config(CLI::App& app, const Globals& globals, Action& chosen);
void add_export(CLI::App& app, const Globals& globals, Action& chosen);
void add_import(CLI::App& app, const Globals& globals, Action& chosen);
void add_merge(CLI::App& app, const Globals& globals, Action& chosen);
void add_doctor(CLI::App& app, const Globals& globals, Action& chosen);

}  // namespace kiln::cli
