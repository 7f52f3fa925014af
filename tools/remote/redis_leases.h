#pragma once

// Leases on a Redis server: keys that the server lets expire.
//
//     const auto leases = redis_leases(RedisConnection::make(address).value());
//     if (leases->take(name, token) == LeaseAnswer::taken) make();

#include <memory>

#include "leases.h"
#include "redis_connection.h"

namespace kiln::remote {

/// REQUIRES: a connection.
[[nodiscard]] std::unique_ptr<Leases> redis_leases(std::shared_ptr<RedisConnection> connection);

}  // namespace kiln::remote
