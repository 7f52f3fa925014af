#include "http_client.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "server_words.h"
#include "sha256.h"
#include "system/environment.h"

namespace kiln::remote {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Of a refusal, which says why.
constexpr std::size_t most_refusal_bytes = 2048;
/// For so long a server may say that it will not take a large body. One that says nothing gets it.
constexpr milliseconds waiting_for_continue{100};

bool start_libcurl() {
  static const bool started = ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return started;
}

std::string value_of(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const char* value = system::variable(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

bool is_unreserved(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_' ||
         letter == '~';
}

std::string with_slash(std::string text) {
  if (!text.ends_with('/')) text += '/';
  return text;
}

/// The folder that a path lies in: "l/" of "l/name", and of "l/name/".
std::string folder_of(const std::string& path) {
  const auto end = path.find_last_of('/', path.size() - 2);
  return end == std::string::npos ? std::string() : path.substr(0, end + 1);
}

/// One part of a url; empty where it has none.
std::string part_of(CURLU* url, CURLUPart part, unsigned flags) {
  char* text = nullptr;
  if (::curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  ::curl_free(text);
  return copy;
}

Result<HttpServer> plain_server(const RemoteAddress& address) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> url(::curl_url(),
                                                                  &::curl_url_cleanup);
  if (::curl_url_set(url.get(), CURLUPART_URL, address.url.c_str(), 0) != CURLUE_OK) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no url; one is http://host[:port]/path/", address.shown()));
  }
  HttpServer server{.root = {}, .shown = address.shown(), .timeout = address.timeout};
  server.user = part_of(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  server.password = part_of(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  ::curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
  ::curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  server.root = with_slash(part_of(url.get(), CURLUPART_URL, 0));
  return server;
}

/// Amazon's own certificates do not cover a bucket's name with a dot in it.
std::string amazons_bucket(const std::string& bucket, const std::string& region) {
  if (bucket.find('.') == std::string::npos)
    return fmt::format("https://{}.s3.{}.amazonaws.com/", bucket, region);
  return fmt::format("https://s3.{}.amazonaws.com/{}/", region, bucket);
}

Result<HttpServer> s3_server(const RemoteAddress& address) {
  constexpr std::string_view scheme = "s3://";
  std::string_view path = address.url;
  path.remove_prefix(scheme.size());
  const auto end_of_bucket = std::min(path.find('/'), path.size());
  const std::string bucket(path.substr(0, end_of_bucket));
  std::string prefix(path.substr(end_of_bucket));
  if (const auto first = prefix.find_first_not_of('/'); first != std::string::npos)
    prefix = with_slash(prefix.substr(first));
  else
    prefix.clear();
  if (bucket.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' names no bucket; s3://bucket/prefix does", address.shown()));
  }
  HttpServer server{.root = {}, .shown = address.shown(), .timeout = address.timeout};
  server.region = address.region.empty() ? "us-east-1" : address.region;
  server.root = address.endpoint.empty() ? amazons_bucket(bucket, server.region)
                                         : with_slash(address.endpoint) + bucket + '/';
  server.folder = std::move(prefix);
  server.user = value_of({"AWS_ACCESS_KEY_ID"});
  server.password = value_of({"AWS_SECRET_ACCESS_KEY"});
  server.session = value_of({"AWS_SESSION_TOKEN"});
  return server;
}

/// What S3 calls its refusal, such as "NoSuchBucket"; empty where the answer does not say.
std::string_view name_of_refusal(std::string_view body) {
  constexpr std::string_view before = "<Code>";
  constexpr std::size_t most = 64;
  const auto at = body.find(before);
  if (at == std::string_view::npos) return {};
  body.remove_prefix(at + before.size());
  const auto name = body.substr(0, body.find('<'));
  return name.size() <= most && std::ranges::all_of(name, is_unreserved) ? name
                                                                         : std::string_view();
}

/// As " (Connection refused)"; empty where libcurl does not know. What libcurl itself would say may repeat a proxy's password.
std::string cause_in_system(CURL* handle) {
  long error = 0;
  ::curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
  if (error == 0) return {};
  return fmt::format(" ({})", std::generic_category().message(static_cast<int>(error)));
}

}  // namespace

struct HttpClient::Request {
  const char* method = "GET";
  std::string path;  ///< Below the root.
  std::string_view body = {};
  std::uint64_t most_bytes = 0;  ///< Of what is got.
  bool only_if_new = false;

  [[nodiscard]] bool has_body() const { return std::strcmp(method, "PUT") == 0; }
  [[nodiscard]] bool wants_body() const { return std::strcmp(method, "GET") == 0; }
};

struct HttpClient::Answer {
  long status = 0;
  std::string body = {};  ///< What was got, whole; of any other answer how it begins.
  bool is_too_large = false;

  [[nodiscard]] bool is_success() const { return status >= 200 && status < 300; }
};

/// What libcurl's callbacks work on.
struct HttpClient::Transfer {
  const Request& request;
  CURL* handle = nullptr;
  std::string_view unsent = request.body;
  Answer answer = {};

  static std::size_t receive(char* bytes, std::size_t, std::size_t count, void* self) noexcept {
    auto& [request, handle, unsent, answer] = *static_cast<Transfer*>(self);
    ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
    if (!answer.is_success() || !request.wants_body()) {
      const auto room = most_refusal_bytes - std::min(most_refusal_bytes, answer.body.size());
      answer.body.append(bytes, std::min(room, count));
      return count;
    }
    answer.is_too_large = count > request.most_bytes - answer.body.size();
    if (answer.is_too_large) return 0;
    answer.body.append(bytes, count);
    return count;
  }

  static std::size_t give(char* bytes, std::size_t, std::size_t room, void* self) noexcept {
    auto& unsent = static_cast<Transfer*>(self)->unsent;
    const auto count = unsent.copy(bytes, room);
    unsent.remove_prefix(count);
    return count;
  }

  /// A kept connection may turn out to be closed after some was sent.
  static int rewind(void* self, curl_off_t offset, int origin) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    const auto whole = transfer.request.body;
    if (origin != SEEK_SET || offset < 0 || static_cast<std::uint64_t>(offset) > whole.size())
      return CURL_SEEKFUNC_FAIL;
    transfer.unsent = whole.substr(static_cast<std::size_t>(offset));
    return CURL_SEEKFUNC_OK;
  }
};

Result<std::shared_ptr<HttpClient>> HttpClient::open(const RemoteAddress& address) {
  if (!start_libcurl()) {
    return fail(ErrorCode::io_failed,
                fmt::format("libcurl cannot start, so {} cannot be asked; reinstall libcurl",
                            address.shown()));
  }
  auto server =
      address.kind == RemoteAddress::Kind::s3 ? s3_server(address) : plain_server(address);
  if (!server) return tl::unexpected(std::move(server.error()));
  return std::make_shared<HttpClient>(std::move(*server));
}

void HttpClient::begin_call() { deadline_ = steady_clock::now() + server_.timeout; }

Result<std::optional<std::string>> HttpClient::get(const std::string& path,
                                                   std::uint64_t most_bytes) {
  const Request request{.path = below(path), .most_bytes = most_bytes};
  auto answer = send(request);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (answer->status == 200) return std::optional(std::move(answer->body));
  const bool is_missing = answer->status == 404 || answer->status == 410;
  if (is_missing && name_of_refusal(answer->body) != "NoSuchBucket")
    return std::optional<std::string>();
  return tl::unexpected(refused(request, *answer));
}

Outcome HttpClient::put(const std::string& path, std::string_view bytes) {
  const Request request{.method = "PUT", .path = below(path), .body = bytes};
  auto answer = send(request);
  if (answer && answer->status == 409 && !is_s3()) {
    // Some servers make folders by themselves. This one does not.
    if (auto made = send(making(folder_of(path))); !made)
      return tl::unexpected(std::move(made.error()));
    answer = send(request);
  }
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (!answer->is_success()) return tl::unexpected(refused(request, *answer));
  return {};
}

Result<bool> HttpClient::make(const std::string& path) {
  const auto request = making(path);
  auto answer = send(request);
  if (answer && answer->status == 409 && !is_s3()) {
    // The folder is not there, or not even the one that it would lie in. A server that makes folders does so for a PUT.
    if (auto made = put(folder_of(path) + "made", {}); !made)
      return tl::unexpected(std::move(made.error()));
    answer = send(request);
  }
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (is_s3() ? answer->is_success() : answer->status == 201) return true;
  // S3 says 409 to one who asks at the same time as another.
  const bool is_there =
      is_s3() ? answer->status == 412 || answer->status == 409 : answer->status == 405;
  if (is_there) return false;
  return tl::unexpected(refused(request, *answer));
}

Outcome HttpClient::remove(const std::string& path) {
  const Request request{.method = "DELETE", .path = below(path)};
  auto answer = send(request);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (!answer->is_success() && answer->status != 404 && answer->status != 410)
    return tl::unexpected(refused(request, *answer));
  return {};
}

Result<std::string> HttpClient::list(const std::string& query, std::uint64_t most_bytes) {
  const Request request{.path = '?' + query, .most_bytes = most_bytes};
  auto answer = send(request);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (answer->status != 200) return tl::unexpected(refused(request, *answer));
  return std::move(answer->body);
}

HttpClient::Request HttpClient::making(const std::string& path) const {
  if (is_s3()) return {.method = "PUT", .path = below(path), .only_if_new = true};
  return {.method = "MKCOL", .path = below(path)};
}

/// Encoded as S3 wants it signed: libcurl 7.88 signs a path as it finds it.
std::string HttpClient::below(const std::string& path) const {
  return percent_encoded(server_.folder + path, true);
}

Result<HttpClient::Answer> HttpClient::send(const Request& request) {
  if (!handle_ && !connect())
    return fail(ErrorCode::io_failed, fmt::format("{}: libcurl has no memory", server_.shown));
  Transfer transfer{.request = request, .handle = handle_.get()};
  const auto headers = headers_of(request);
  const auto url = server_.root + request.path;
  // libcurl takes 0 for no bound.
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline_ - steady_clock::now()).count();
  const auto bound = static_cast<long>(std::max<milliseconds::rep>(left, 1));
  CURL* const handle = handle_.get();
  ::curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(handle, CURLOPT_UPLOAD, request.has_body() ? 1L : 0L);
  ::curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  ::curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method);
  ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, bound);
  ::curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, bound);
  ::curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  ::curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
  ::curl_easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
  const auto code = ::curl_easy_perform(handle);
  if (code != CURLE_OK) {
    auto error = failed(code, transfer);
    // With its connection.
    handle_.reset();
    return tl::unexpected(std::move(error));
  }
  ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  return std::move(transfer.answer);
}

bool HttpClient::connect() {
  handle_.reset(::curl_easy_init());
  CURL* const handle = handle_.get();
  if (handle == nullptr) return false;
  ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  ::curl_easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  ::curl_easy_setopt(handle, CURLOPT_EXPECT_100_TIMEOUT_MS,
                     static_cast<long>(waiting_for_continue.count()));
  ::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::receive);
  ::curl_easy_setopt(handle, CURLOPT_READFUNCTION, &Transfer::give);
  ::curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, &Transfer::rewind);
  set_up_proxy();
  if (server_.user.empty() && server_.password.empty()) return true;
  ::curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
  ::curl_easy_setopt(handle, CURLOPT_USERNAME, server_.user.c_str());
  ::curl_easy_setopt(handle, CURLOPT_PASSWORD, server_.password.c_str());
  if (is_s3()) {
    ::curl_easy_setopt(handle, CURLOPT_AWS_SIGV4,
                       fmt::format("aws:amz:{}:s3", server_.region).c_str());
  }
  return true;
}

/// By the variables that libcurl would read. It would read them in a program that runs with others' rights, too.
void HttpClient::set_up_proxy() {
  const auto proxy = server_.root.starts_with("https:")
                         ? value_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                         : value_of({"http_proxy", "all_proxy", "ALL_PROXY"});
  has_proxy_ = !proxy.empty();
  ::curl_easy_setopt(handle_.get(), CURLOPT_PROXY, proxy.c_str());
  ::curl_easy_setopt(handle_.get(), CURLOPT_NOPROXY, value_of({"no_proxy", "NO_PROXY"}).c_str());
}

/// libcurl 7.88 signs each of these, and whatever else is named here: so none may be named that is then not sent, as "Expect:".
HttpClient::Headers HttpClient::headers_of(const Request& request) const {
  Headers headers;
  const auto add = [&](const std::string& header) {
    // It gives the same list, or nothing where memory is short.
    if (auto* const longer = ::curl_slist_append(headers.get(), header.c_str())) {
      static_cast<void>(headers.release());
      headers.reset(longer);
    }
  };
  if (request.only_if_new) add("If-None-Match: *");
  if (!is_s3() || server_.user.empty()) return headers;
  // libcurl takes the hash of the body from here, and S3 wants to see it.
  add("x-amz-content-sha256: " + sha256_hex(request.body));
  if (!server_.session.empty()) add("x-amz-security-token: " + server_.session);
  return headers;
}

Error HttpClient::failed(CURLcode code, const Transfer& transfer) const {
  if (transfer.answer.is_too_large) {
    return {ErrorCode::too_large,
            fmt::format("{} gives more than {} bytes of {}; delete it there", server_.shown,
                        transfer.request.most_bytes, transfer.request.path)};
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return {ErrorCode::io_failed,
            fmt::format("{} has not answered within {} ms; see whether it runs, or raise timeout=",
                        server_.shown, server_.timeout.count())};
  }
  return {
      ErrorCode::io_failed,
      fmt::format("{} cannot be asked: {}{}; see whether it runs, and whether the address is "
                  "right{}",
                  server_.shown, ::curl_easy_strerror(code), cause_in_system(transfer.handle),
                  has_proxy_ ? ", and whether the proxy that the environment names works" : "")};
}

Error HttpClient::refused(const Request& request, const Answer& answer) const {
  const auto name = words_without({server_.user, server_.password, server_.session},
                                  name_of_refusal(answer.body));
  return {ErrorCode::io_failed,
          fmt::format("{} answers {}{}{}{} to {} {}; {}", server_.shown, answer.status,
                      name.empty() ? "" : " (", name, name.empty() ? "" : ")", request.method,
                      request.path, remedy(answer)),
          {},
          static_cast<int>(answer.status)};
}

std::string HttpClient::remedy(const Answer& answer) const {
  const auto status = answer.status;
  if (status >= 300 && status < 400)
    return is_s3() ? "check the region and the endpoint" : "name the address that it leads to";
  if (status == 401 || status == 403) {
    if (!is_s3()) return "check user and password in the address, and what they may do there";
    if (server_.user.empty()) return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    return "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, the region and this "
           "machine's clock, and that the key may read, write, delete and list (s3:ListBucket)";
  }
  if (status == 404 && is_s3()) return "make the bucket";
  if (status == 405 || status == 501)
    return "allow the method there (nginx: dav_methods), or add ?read-only to the address";
  if (status == 413) return "allow larger objects there (nginx: client_max_body_size)";
  if (status == 507) return "make room there";
  if (status == 429 || status == 503) return "try again when it is less busy";
  if (status >= 500)
    return "see the log of the server (nginx: may it write there, is create_full_put_path on?)";
  return is_s3() ? "check the region, the endpoint and the bucket"
                 : "check that the address is one where files may be put";
}

std::string percent_encoded(std::string_view text, bool keeps_slashes) {
  std::string encoded;
  for (const char letter : text) {
    if (is_unreserved(letter) || (letter == '/' && keeps_slashes))
      encoded += letter;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return encoded;
}

}  // namespace kiln::remote
