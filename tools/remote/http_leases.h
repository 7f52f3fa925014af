#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http_client.h"
#include "kiln/error.h"
#include "leases.h"

namespace kiln::remote {

/// Leases on a server that makes a thing only once: collections of WebDAV (MKCOL), or objects of S3 (PUT with If-None-Match).
///
/// Whoever makes `<address>l/<name>/` has the lease. `<address>l/<name>/beat` says who, and changes as long as he lives. Who has
/// seen the same there for as long as a lease lasts, by his own clock, makes `<address>l/<name>/<old token>-<number>/`; of several,
/// one can, and has the lease from then on. To give a lease back is to delete all of it, or to write into the beat that the holder
/// failed. What claims stay in S3 behind takeovers, a lifecycle rule removes. A server that answers from what it remembers (nginx:
/// open_file_cache) tells late that a lease was given back, and that its holder lives.
class HttpLeases final : public Leases {
 public:
  /// Tests wait for less.
  explicit HttpLeases(std::shared_ptr<HttpClient> client, std::chrono::milliseconds lasts = lasting,
                      std::chrono::milliseconds tells_failure = telling_failure)
      : client_(std::move(client)), lasts_(lasts), tells_failure_(tells_failure) {}

  /// An error for a server that cannot give leases is remembered: the server is not asked again.
  Result<LeaseAnswer> take(const std::string& name, const std::string& token) override;
  Result<bool> prolong(const std::string& name, const std::string& token) override;
  Outcome release(const std::string& name, const std::string& token, bool failed) override;

 private:
  /// What the beat of a lease said, and since when it says that.
  struct Seen {
    std::string beat;
    std::chrono::steady_clock::time_point since;
    int claims = 0;  ///< So many who took over from this holder never came to say so.
  };

  [[nodiscard]] Result<std::string> beat_of(const std::string& name);
  [[nodiscard]] Result<LeaseAnswer> judge(const std::string& name, const std::string& token,
                                          Result<std::string> said);
  [[nodiscard]] Result<LeaseAnswer> hold(const std::string& name, const std::string& token);
  [[nodiscard]] Seen& see(const std::string& name, std::string beat);
  [[nodiscard]] Result<bool> make(const std::string& path, const std::string& token);
  [[nodiscard]] Outcome prove(const std::string& token);

  const std::shared_ptr<HttpClient> client_;
  const std::chrono::milliseconds lasts_;
  const std::chrono::milliseconds tells_failure_;
  std::map<std::string, Seen> seen_;
  bool is_proven_ = false;
  std::optional<Error> unable_;
};

}  // namespace kiln::remote
