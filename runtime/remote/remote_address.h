#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"

namespace kiln {

/// A store that machines share, as KILN_REMOTE names it.
struct RemoteAddress {
  enum class Kind { file, redis, redis_socket, http, s3 };

  Kind kind = Kind::file;
  std::string
      url;  ///< As it was given, but for what stands behind its '?'. It may hold a password.
  bool read_only = false;
  bool parents = false;                      ///< Of a folder: those above it are made as well.
  std::chrono::milliseconds timeout{2'000};  ///< Of one call to the server.
  std::string endpoint = {};                 ///< Of S3: "https://host[:port]"; empty for Amazon's.
  std::string region = {};                   ///< Of S3; empty for us-east-1.

  bool operator==(const RemoteAddress&) const = default;

  /// The url for messages, without user and password.
  [[nodiscard]] std::string shown() const;
  /// Of a folder or a socket: where it is, with "%20" and the like decoded.
  [[nodiscard]] std::string path() const;
};

/// `file:///folder`, `redis://[[user]:password@]host[:port][/database]`, `redis+unix:///socket`,
/// `http(s)://[user:password@]host[:port]/path/`, `s3://bucket[/prefix]`; behind '?', separated by '&': `read-only`,
/// `timeout=MILLISECONDS`, for a folder `parents`, and for S3 `endpoint=URL`, `region=NAME`. Errors: invalid_argument, saying what
/// is expected; they do not repeat a password.
[[nodiscard]] Result<RemoteAddress> parse_remote(std::string_view text);

/// The same of several, with spaces between them.
[[nodiscard]] Result<std::vector<RemoteAddress>> parse_remotes(std::string_view text);

/// The URL of a folder, whose path is absolute and may have any character.
[[nodiscard]] std::string url_of_folder(const std::filesystem::path& folder);

}  // namespace kiln
