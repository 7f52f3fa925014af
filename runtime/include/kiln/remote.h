#pragma once

// kiln/remote.h: stores that machines share, by their URLs.
//
//     const auto settings = kiln::resolve_settings({}).value();
//     const auto store = kiln::open_store("redis://cache.example", settings).value();
//     auto cache = kiln::Cache::open(settings.cache_directory).value();
//     const auto pulled = kiln::pull(*store, cache).value();

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kiln/error.h"
#include "kiln/exchange.h"
#include "kiln/export.h"
#include "kiln/settings.h"

namespace KILN_EXPORT kiln {

/// What is to be done with a store.
enum class StoreUse {
  look,  ///< Nothing of a folder is changed, not even when its objects were used last.
  read,
  write,  ///< A folder is made where there is none.
};

/// The store that a URL names: `file:///folder`, `redis://[[user]:password@]host[:port][/database]`, `redis+unix:///socket`,
/// `http(s)://[user:password@]host[:port]/path/` of a server with GET and PUT, `s3://bucket[/prefix]`. Behind '?', separated by '&':
/// `read-only`, `timeout=MILLISECONDS` of one call to the server, for a folder `parents`, by which those above it are made as well,
/// and for S3 `endpoint=URL`, `region=NAME`; S3's keys are those of AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
/// A server is talked to by the helper program kiln-remote, so that nothing of a network is linked. Whose files and keys count, the
/// settings say.
/// Errors: invalid_argument, saying what is expected, and where a store that is named read-only is to be written; those of
/// open_file_store(). Of a server that is not there, the first call tells.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_store(std::string_view url,
                                                              const Settings& settings,
                                                              StoreUse use = StoreUse::read);

/// What this machine's helper knows of a store's server, and what it did for all of this user's processes since it was started. It
/// ends a minute after the last of them.
struct RemoteStatus {
  bool resting = false;      ///< Whether the server failed, and is left alone for a while.
  std::string last_failure;  ///< Empty where none was met.
  std::uint64_t round_trip_us =
      0;  ///< Of the latest call that succeeded. Microseconds; 0 where none has.
  bool gives_leases = false;  ///< Whether the server lets one machine compile for all.
  std::uint64_t asked = 0;    ///< Requests.
  std::uint64_t found = 0;    ///< Objects that were given.
  std::uint64_t failures = 0;
  std::uint64_t slow = 0;    ///< Answers that came when whoever had asked was gone.
  std::uint64_t pushed = 0;  ///< Entries that were put.
  std::uint64_t duplicates =
      0;  ///< Of those, such as were there already: somebody else compiled them too.
  std::uint64_t dropped = 0;  ///< Entries that were not put: too many waited, or the server failed.
  std::uint64_t waiting = 0;  ///< Entries that are to be put, or to be kept here.
  std::uint64_t lease_waits =
      0;  ///< How often somebody found another machine compiling what he needs.
};

/// One of RuntimeOptions::remotes.
struct RemoteState {
  std::string url;  ///< Without user and password.
  bool read_only = false;
  Result<RemoteStatus> status;  ///< An error where the helper cannot be asked, or its server.
};

}  // namespace kiln
