#pragma once

// A store and leases on a server that speaks HTTP: one that takes PUT, and MKCOL for leases, or S3.
//
//     auto backend = open_http(parse_remote("http://farm:8080/kernels/").value()).value();
//     const auto object = backend.objects->get(name, most_bytes).value();

#include "backend.h"
#include "kiln/error.h"
#include "remote/remote_address.h"

namespace kiln::remote {

/// `<address>o/<name>` is an object; `<address>r/<request>` is one object too, with what is hinted of the request: the latest 16,
/// and no more than 1 MiB. A hint may get lost where two machines add one to the same request at one time.
///
/// A plain server does not list requests, and neither kind removes objects: these are errors of invalid_argument.
///
/// REQUIRES: the address is of http or S3. Errors: as HttpClient::open().
[[nodiscard]] Result<Backend> open_http(const RemoteAddress& address);

}  // namespace kiln::remote
