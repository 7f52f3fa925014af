#include "remote/helper_environment.h"

#include <vector>

#include "base/wire_record.h"
#include "kiln/digest.h"
#include "system/environment.h"

namespace kiln::remote {

std::string environment_for(const RemoteAddress& address) {
  using Kind = RemoteAddress::Kind;
  if (address.kind != Kind::http && address.kind != Kind::s3) return {};
  std::vector<std::string> values;
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                           "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                           "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    const char* const value = system::variable(name);
    values.emplace_back(value != nullptr ? value : "");
  }
  return digest_of(wire::encode(values)).hex();
}

}  // namespace kiln::remote
