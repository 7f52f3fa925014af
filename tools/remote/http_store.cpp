#include "http_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "http_client.h"
#include "http_leases.h"
#include "kiln/exchange.h"
#include "server_words.h"

namespace kiln::remote {

namespace {

/// A list of hints opens with it: "kilH", and the version.
constexpr std::string_view magic{"kilH\1", 5};
constexpr std::size_t most_hints = 16;
constexpr std::size_t most_list_bytes = std::size_t{1} << 20;
constexpr std::size_t digits_of_objects = 64;
constexpr std::size_t size_bytes = 4;

/// Of S3's lists: a thousand keys of at most a kilobyte, and what lies between them.
constexpr std::uint64_t most_page_bytes = std::uint64_t{8} << 20;
constexpr int most_pages = 10'000;

struct Hint {
  std::string_view name;
  std::string_view record;
};

// After the magic follow the hints: each `size (4 bytes, little-endian) · name · size · record`.

void append(std::string& list, std::string_view bytes) {
  for (std::size_t at = 0; at < size_bytes; ++at) list += static_cast<char>(bytes.size() >> 8 * at);
  list += bytes;
}

std::size_t size_of(const Hint& hint) {
  return 2 * size_bytes + hint.name.size() + hint.record.size();
}

/// As many as there is room for.
std::string encode(const std::vector<Hint>& hints) {
  std::string list(magic);
  std::size_t count = 0;
  for (const auto& hint : hints) {
    if (count++ == most_hints || list.size() + size_of(hint) > most_list_bytes) break;
    append(list, hint.name);
    append(list, hint.record);
  }
  return list;
}

std::optional<std::string_view> take(std::string_view& list) {
  if (list.size() < size_bytes) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t at = 0; at < size_bytes; ++at)
    size |= static_cast<std::size_t>(static_cast<unsigned char>(list[at])) << 8 * at;
  list.remove_prefix(size_bytes);
  if (size > list.size()) return std::nullopt;
  const auto bytes = list.substr(0, size);
  list.remove_prefix(size);
  return bytes;
}

/// Takes any bytes, and gives what stands before the first damage. Borrows the list.
std::vector<Hint> decode(std::string_view list) {
  std::vector<Hint> hints;
  if (!list.starts_with(magic)) return hints;
  list.remove_prefix(magic.size());
  while (hints.size() < most_hints) {
    const auto name = take(list);
    const auto record = name ? take(list) : std::nullopt;
    // Names become parts of urls.
    if (!record || !is_hexadecimal(*name, digits_of_objects)) break;
    hints.push_back({*name, *record});
  }
  return hints;
}

std::string object_path(const std::string& name) { return "o/" + name; }
std::string request_path(const Digest& request) { return "r/" + request.hex(); }

/// What stands in the first element of this name.
std::string_view element_in(std::string_view xml, std::string_view name) {
  const auto opening = fmt::format("<{}>", name);
  const auto at = xml.find(opening);
  if (at == std::string_view::npos) return {};
  xml.remove_prefix(at + opening.size());
  return xml.substr(0, xml.find('<'));
}

/// Of all keys that a page of S3's list names, those of requests. Anything may stand in it.
void add_requests(std::string_view page, std::vector<Digest>& requests) {
  constexpr std::string_view opening = "<Key>";
  for (auto at = page.find(opening); at != std::string_view::npos; at = page.find(opening)) {
    page.remove_prefix(at + opening.size());
    const auto key = page.substr(0, page.find('<'));
    const auto request = Digest::from_hex(key.substr(key.rfind('/') + 1));
    if (request) requests.push_back(*request);
  }
}

class HttpStore final : public ObjectStore {
 public:
  explicit HttpStore(std::shared_ptr<HttpClient> client)
      : ObjectStore({}), client_(std::move(client)) {}

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    client_->begin_call();
    return client_->get(object_path(name), most_bytes);
  }

  Result<bool> put(const std::string& name, std::string_view bytes) override {
    client_->begin_call();
    const auto path = object_path(name);
    const auto before = client_->get(path, bytes.size());
    if (!before && before.error().code != ErrorCode::too_large)
      return tl::unexpected(before.error());
    if (before && *before == bytes) return false;
    if (auto sent = client_->put(path, bytes); !sent)
      return tl::unexpected(std::move(sent.error()));
    return true;
  }

  Result<std::vector<StoreHint>> hints(const Digest& request, std::size_t most) override {
    client_->begin_call();
    const auto got = client_->get(request_path(request), most_list_bytes);
    if (!got) return tl::unexpected(got.error());
    const auto list = got->value_or("");
    std::vector<StoreHint> hints;
    for (const auto& [name, record] : decode(list)) {
      if (hints.size() == most) break;
      hints.push_back({std::string(name), std::string(record)});
    }
    return hints;
  }

  Outcome add_hint(const Digest& request, const std::string& name, std::string_view hint) override {
    const Hint latest{name, hint};
    if (magic.size() + size_of(latest) > most_list_bytes) {
      return fail(ErrorCode::io_failed,
                  fmt::format("{} has no room for a hint of {} bytes; push without it", shown(),
                              hint.size()));
    }
    client_->begin_call();
    const auto path = request_path(request);
    const auto before = client_->get(path, most_list_bytes);
    if (!before && before.error().code != ErrorCode::too_large)
      return tl::unexpected(before.error());
    const auto list = before ? before->value_or("") : std::string();
    auto hints = decode(list);
    std::erase_if(hints, [&](const Hint& other) { return other.name == name; });
    hints.insert(hints.begin(), latest);
    const auto longer = encode(hints);
    return longer == list ? Outcome() : client_->put(path, longer);
  }

  Result<std::vector<Digest>> requests() override {
    if (!client_->is_s3()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: the server does not list what it has; name the requests that "
                              "are wanted",
                              shown()));
    }
    std::vector<Digest> requests;
    std::string continued_at;
    for (int pages = 0; pages < most_pages; ++pages) {
      client_->begin_call();
      const auto page = client_->list(query_for(continued_at), most_page_bytes);
      if (!page) return tl::unexpected(page.error());
      add_requests(*page, requests);
      continued_at = element_in(*page, "NextContinuationToken");
      if (!continued_at.empty()) continue;
      std::ranges::sort(requests);
      return requests;
    }
    return fail(
        ErrorCode::too_large,
        fmt::format("{} lists more requests than there can be; see what server it is", shown()));
  }

  Result<GcReport> collect(const GcOptions& /*options*/) override {
    const auto* const means = client_->is_s3()
                                  ? "set a lifecycle rule for the bucket"
                                  : "have a job there delete files that were not read for long";
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: kiln removes nothing from there; {}", shown(), means));
  }

 private:
  [[nodiscard]] const std::string& shown() const { return client_->server().shown; }

  /// In the order in which S3 wants it signed, which libcurl 7.88 does not see to.
  [[nodiscard]] std::string query_for(std::string_view continued_at) const {
    const auto prefix = percent_encoded(client_->server().folder + "r/", false);
    auto query = "list-type=2&prefix=" + prefix;
    if (continued_at.empty()) return query;
    return fmt::format("continuation-token={}&{}", percent_encoded(continued_at, false), query);
  }

  const std::shared_ptr<HttpClient> client_;
};

}  // namespace

Result<Backend> open_http(const RemoteAddress& address) {
  auto client = HttpClient::open(address);
  if (!client) return tl::unexpected(std::move(client.error()));
  return Backend{.objects = std::make_unique<HttpStore>(*client),
                 .leases = std::make_unique<HttpLeases>(*client)};
}

}  // namespace kiln::remote
