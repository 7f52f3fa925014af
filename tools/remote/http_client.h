#pragma once

// One connection to a server that speaks HTTP: a plain one, or S3. Stores and leases share it.
//
//     const auto client = HttpClient::open(address).value();
//     client->begin_call();
//     const auto bytes = client->get("o/" + name, 1 << 20).value();

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/error.h"
#include "remote/remote_address.h"

namespace kiln::remote {

/// Where a server is, and who asks it.
struct HttpServer {
  std::string root;         ///< Without user and password; ends with '/'. Of S3: the bucket.
  std::string folder = {};  ///< Of S3: what all paths begin with; empty, or ends with '/'.
  std::string user = {};    ///< Of S3: the key's id; empty where nothing is to be signed.
  std::string password = {};
  std::string session = {};  ///< Of S3: the token of temporary keys.
  std::string region = {};   ///< Of S3; empty for a plain server.
  std::string shown;
  std::chrono::milliseconds timeout;
};

/// Connects when something is first asked. A call after a failed one connects anew. Serves one thread at a time.
///
/// Errors are io_failed where nothing else is said. They name the server, and what to do; their vendor_code is the status of the
/// answer, where there was one.
class HttpClient {
 public:
  /// Reads the keys of S3 from the environment. Errors: invalid_argument, for no url; io_failed, where libcurl cannot start.
  [[nodiscard]] static Result<std::shared_ptr<HttpClient>> open(const RemoteAddress& address);

  explicit HttpClient(HttpServer server) noexcept : server_(std::move(server)) {}

  /// All that is asked until the next begin_call() ends within the address's timeout.
  void begin_call();

  // Paths lie below the address.

  /// Nothing where there is no such thing. Errors: too_large, for more than `most_bytes`.
  [[nodiscard]] Result<std::optional<std::string>> get(const std::string& path,
                                                       std::uint64_t most_bytes);
  /// Makes the folder of it too, where the server can.
  [[nodiscard]] Outcome put(const std::string& path, std::string_view bytes);
  /// Whether it was not there before; of several who ask at one time, one is told so. Makes a collection of WebDAV's, and an empty
  /// object in S3. REQUIRES: the path ends with '/'.
  [[nodiscard]] Result<bool> make(const std::string& path);
  /// Nothing has to be there.
  [[nodiscard]] Outcome remove(const std::string& path);

  /// S3's list of a bucket's keys. The query is sorted and percent-encoded.
  [[nodiscard]] Result<std::string> list(const std::string& query, std::uint64_t most_bytes);

  [[nodiscard]] bool is_s3() const noexcept { return !server_.region.empty(); }
  [[nodiscard]] const HttpServer& server() const noexcept { return server_; }

 private:
  struct Request;
  struct Answer;
  struct Transfer;
  struct CloseHandle {
    void operator()(CURL* handle) const noexcept { ::curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const noexcept { ::curl_slist_free_all(list); }
  };
  using Headers = std::unique_ptr<curl_slist, FreeList>;

  [[nodiscard]] Result<Answer> send(const Request& request);
  [[nodiscard]] bool connect();
  void set_up_proxy();
  [[nodiscard]] Headers headers_of(const Request& request) const;
  [[nodiscard]] std::string below(const std::string& path) const;
  [[nodiscard]] Request making(const std::string& path) const;
  [[nodiscard]] Error failed(CURLcode code, const Transfer& transfer) const;
  [[nodiscard]] Error refused(const Request& request, const Answer& answer) const;
  [[nodiscard]] std::string remedy(const Answer& answer) const;

  const HttpServer server_;
  std::chrono::steady_clock::time_point deadline_;
  std::unique_ptr<CURL, CloseHandle> handle_;
  bool has_proxy_ = false;
};

/// As a url's path or query spells it: only letters, digits and "-._~" stay as they are, and '/' where it is to be kept.
[[nodiscard]] std::string percent_encoded(std::string_view text, bool keeps_slashes);

}  // namespace kiln::remote
