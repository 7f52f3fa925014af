#include "remote/remote_address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace kiln {

namespace {

constexpr std::array<std::pair<std::string_view, RemoteAddress::Kind>, 6> schemes{
    {{"file://", RemoteAddress::Kind::file},
     {"redis://", RemoteAddress::Kind::redis},
     {"redis+unix://", RemoteAddress::Kind::redis_socket},
     {"http://", RemoteAddress::Kind::http},
     {"https://", RemoteAddress::Kind::http},
     {"s3://", RemoteAddress::Kind::s3}}};

constexpr unsigned longest_timeout = 60'000;

std::size_t end_of_host(std::string_view url) {
  return std::min(url.find_first_of("/?", url.find("://") + 3), url.size());
}

// What stands between the scheme and the path, without user and password.
std::string_view host_of(std::string_view url) {
  const auto begin = url.find("://") + 3;
  const auto host = url.substr(begin, end_of_host(url) - begin);
  return host.substr(host.rfind('@') + 1);
}

// An IPv6 address stands in brackets.
bool has_sound_port(std::string_view host) {
  const auto name_end = host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0;
  const auto colon = host.find(':', name_end);
  if (colon == std::string_view::npos) return true;
  const auto port = host.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
  return fault == std::errc() && end == port.data() + port.size() && number != 0;
}

std::string without_secrets(std::string_view url) {
  return fmt::format("{}{}{}", url.substr(0, url.find("://") + 3), host_of(url),
                     url.substr(end_of_host(url)));
}

// Of what is no address, any part may be a password in the wrong place. A piece of one has no scheme, or an '@' behind it, or
// stands where a port should.
bool may_be_repeated(std::string_view text) {
  const auto url = text.substr(0, text.find('?'));
  if (url.find("://") == std::string_view::npos || text.find('@') != std::string_view::npos)
    return false;
  const auto host = host_of(url);
  return !host.starts_with(':') && has_sound_port(host);
}

// As "redis://", where it is nothing else; else empty.
std::string_view scheme_of(std::string_view text) {
  const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+");
  const bool is_scheme = end != std::string_view::npos && text.substr(end).starts_with("://");
  return is_scheme ? text.substr(0, end + 3) : std::string_view();
}

// What stands behind the '?' without any value: a url's parameters are where tokens are put. What has no '=' may be one, too.
std::string without_values(std::string_view options) {
  std::string names;
  for (;;) {
    const auto end = std::min(options.find('&'), options.size());
    const auto equals = options.substr(0, end).find('=');
    if (equals != std::string_view::npos) names += options.substr(0, equals + 1);
    names += "...";
    if (end == options.size()) return names;
    names += '&';
    options.remove_prefix(end + 1);
  }
}

std::string as_it_may_be_repeated(std::string_view text) {
  if (!may_be_repeated(text)) return fmt::format("{}...", scheme_of(text));
  const auto question = text.find('?');
  if (question == std::string_view::npos) return std::string(text);
  return fmt::format("{}?{}", text.substr(0, question), without_values(text.substr(question + 1)));
}

// No address and no piece of one, so that no password is in it. "user:word" is a piece, and a path never.
bool is_plain(std::string_view setting) {
  return setting.find("://") == std::string_view::npos &&
         setting.find_first_of("@?") == std::string_view::npos &&
         (setting.starts_with('/') || setting.starts_with("file:") || has_sound_port(setting));
}

tl::unexpected<Error> not_shared(std::string_view shown, std::string_view expected) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a store that machines share: {}", shown, expected));
}

tl::unexpected<Error> no_remote(std::string_view text, std::string_view expected) {
  return not_shared(as_it_may_be_repeated(text), expected);
}

// `setting` tells whether it may be a piece of a password that has a space in it.
tl::unexpected<Error> no_address(std::string_view text, std::string_view setting) {
  const auto shown = is_plain(setting) ? std::string(text) : as_it_may_be_repeated(text);
  if (text.starts_with('/'))
    return not_shared(shown, "name a folder with file:// before its path: file:///folder");
  return not_shared(
      shown,
      fmt::format(
          "name one as file:///folder, redis://host, redis+unix:///socket, "
          "http://host/path/, https://host/path/ or s3://bucket/prefix{}",
          setting == text ? "" : "; spaces separate stores, and one in a path is written %20"));
}

std::optional<RemoteAddress::Kind> kind_in(std::string_view url) {
  for (const auto& [scheme, kind] : schemes) {
    if (url.starts_with(scheme) && url.size() > scheme.size()) return kind;
  }
  return std::nullopt;
}

Outcome check_place(const RemoteAddress& address, std::string_view text) {
  const auto host = host_of(address.url);
  const bool is_path = address.kind == RemoteAddress::Kind::file ||
                       address.kind == RemoteAddress::Kind::redis_socket;
  if (is_path && !host.empty())
    return no_remote(text, "it names no absolute path, as file:///mnt/kernels does");
  if (!is_path && (host.empty() || host.starts_with(':')))
    return no_remote(text, "it names no server");
  if (!is_path && !has_sound_port(host))
    return no_remote(text, "what stands behind the server's ':' is no port from 1 to 65535");
  // A password with a '/' in it would pass for a path, which is shown to everybody.
  if (!is_path && address.url.find('@', end_of_host(address.url)) != std::string::npos)
    return no_remote(text,
                     "write '@', '/' and '?' in a user, a password or a path as %40, %2F, %3F");
  const auto strange = std::ranges::find_if(
      address.url, [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '#'; });
  if (is_path && address.path().find('\0') != std::string::npos)
    return no_remote(text, "a path has no %00 in it");
  // A folder is named as it is called.
  if (strange != address.url.end() && !is_path)
    return no_remote(text, "write spaces, control characters and '#' as %20 and the like");
  return {};
}

std::string_view more_options_of(RemoteAddress::Kind kind) {
  switch (kind) {
    case RemoteAddress::Kind::file:
      return ", parents";
    case RemoteAddress::Kind::s3:
      return ", endpoint=, region=";
    default:
      return "";
  }
}

Outcome set_option(RemoteAddress& address, std::string_view option, std::string_view text) {
  const auto equals = option.find('=');
  const auto name = option.substr(0, equals);
  const auto value =
      equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
  if (name == "read-only" && equals == std::string_view::npos) {
    address.read_only = true;
  } else if (name == "parents" && equals == std::string_view::npos &&
             address.kind == RemoteAddress::Kind::file) {
    address.parents = true;
  } else if (name == "timeout") {
    unsigned milliseconds = 0;
    const auto* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, milliseconds);
    if (error != std::errc() || rest != end || milliseconds == 0 || milliseconds > longest_timeout)
      return no_remote(text, "timeout= takes milliseconds, from 1 to 60000");
    address.timeout = std::chrono::milliseconds(milliseconds);
  } else if (name == "endpoint" && address.kind == RemoteAddress::Kind::s3 && !value.empty()) {
    address.endpoint = value;
  } else if (name == "region" && address.kind == RemoteAddress::Kind::s3 && !value.empty()) {
    address.region = value;
  } else {
    return no_remote(text, fmt::format("behind its '?' may stand read-only, timeout=2000{}",
                                       more_options_of(address.kind)));
  }
  return {};
}

// One of the addresses of a setting.
Result<RemoteAddress> parse_one(std::string_view text, std::string_view setting) {
  const auto question = text.find('?');
  const auto url = text.substr(0, question);
  const auto kind = kind_in(url);
  if (!kind) return no_address(text, setting);
  RemoteAddress address{.kind = *kind, .url = std::string(url)};
  if (auto sound = check_place(address, text); !sound) return tl::unexpected(sound.error());
  auto options =
      question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
  while (!options.empty()) {
    const auto end = std::min(options.find('&'), options.size());
    if (auto set = set_option(address, options.substr(0, end), text); !set)
      return tl::unexpected(set.error());
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return address;
}

}  // namespace

std::string RemoteAddress::shown() const { return without_secrets(url); }

std::string RemoteAddress::path() const {
  const std::string_view all = url;
  std::string decoded;
  for (auto at = all.find("://") + 3; at < all.size(); ++at) {
    unsigned char byte = 0;
    const auto* const digits = all.data() + at + 1;
    const bool is_code = all[at] == '%' && at + 2 < all.size() &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded += is_code ? static_cast<char>(byte) : all[at];
    if (is_code) at += 2;
  }
  return decoded;
}

Result<RemoteAddress> parse_remote(std::string_view text) { return parse_one(text, text); }

Result<std::vector<RemoteAddress>> parse_remotes(std::string_view text) {
  const auto setting = text;
  std::vector<RemoteAddress> addresses;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end != 0) {
      auto address = parse_one(text.substr(0, end), setting);
      if (!address) return tl::unexpected(std::move(address.error()));
      addresses.push_back(std::move(*address));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return addresses;
}

std::string url_of_folder(const std::filesystem::path& folder) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~";
  std::string url = "file://";
  for (const unsigned char byte : folder.string()) {
    if (plain.find(static_cast<char>(byte)) != std::string_view::npos) {
      url += static_cast<char>(byte);
    } else {
      url += fmt::format("%{:02X}", byte);
    }
  }
  return url;
}

}  // namespace kiln
