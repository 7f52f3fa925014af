#pragma once

// kiln/observer.h: what kiln says meanwhile: lines of a log, and events.
//
//     auto runtime = kiln::Runtime::open({.log = [](kiln::LogLevel, std::string_view line) { std::cerr << line << '\n'; },
//                                         .observer = [](const kiln::Event& event) {
//                                           if (event.kind == kiln::EventKind::miss) std::cerr << event.detail << '\n';
//                                         }}).value();

#include <functional>
#include <string_view>

#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

enum class LogLevel { off, warn, info, debug };

/// Takes what kiln logs, one line at a time, without a line end. kiln calls it from any thread, also from
/// several at once, and drops what it throws. It must not call back into the runtime that called it.
using LogCallback = std::function<void(LogLevel, std::string_view)>;

enum class EventKind {
  hit,  ///< Served without compiling; `origin` says by whom.
  miss,  ///< `detail` says why. A `hit` may follow, where another process or machine makes it meanwhile.
  compile_begin,
  compile_end,    ///< `detail` is empty on success, else the first line of the error.
  store,          ///< Written to the local cache.
  not_stored,     ///< Compiled and served, but not kept; `detail` says why.
  load,           ///< An image was given to the driver.
  launch_failed,  ///< `detail` is the error's message.
  remote_store,   ///< Is to be put into the stores that machines share.
  lease_wait,     ///< Another machine compiles the same, and is waited for.
};

/// "hit", "miss", … Static lifetime.
[[nodiscard]] const char* to_string(EventKind kind) noexcept;

/// One thing that kiln did. Views are valid during the call.
struct Event {
  EventKind kind;
  std::string_view program;
  std::string_view arch;
  Digest key;  ///< empty() where it is not known yet.
  Origin origin = Origin::compiled;
  double milliseconds = 0;  ///< How long it took; 0 for a beginning.
  std::string_view detail;
};

/// Takes each event. The same rules as for LogCallback.
using Observer = std::function<void(const Event&)>;

}  // namespace kiln
