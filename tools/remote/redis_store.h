#pragma once

// A store and leases on a Redis server.
//
//     const auto backend = open_redis(parse_remote("redis://cache.farm").value()).value();
//     const auto pulled = pull(*backend.objects, cache);
//
// Keys, which other versions of kiln read as well:
//
//     kiln:o:<name>            an object
//     kiln:r:<request>         a list of the names of objects that answer the request, the latest first
//     kiln:h:<request>:<name>  what is hinted of such an object
//     kiln:l:<name>            a lease

#include "backend.h"
#include "kiln/error.h"
#include "remote/remote_address.h"

namespace kiln::remote {

/// Both share one connection, which is made when something is first asked. No keys are trusted. The server removes by its own
/// settings: collect() fails with invalid_argument. Errors: invalid_argument, for an address that is none of a Redis server.
[[nodiscard]] Result<Backend> open_redis(const RemoteAddress& address);

}  // namespace kiln::remote
