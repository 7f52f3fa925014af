#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/cache.h"

namespace kiln::test {

/// A new private folder, removed with all it holds at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// All parts of one entry, owned.
struct Sample {
  std::string source;
  std::vector<std::string> headers;
  Request request;
  DependencySet dependencies;
  Toolchain toolchain;
  Witness witness;
  Artifact artifact;
  std::vector<KernelCode> code;

  /// Borrows the sample.
  [[nodiscard]] NewEntry entry() const;
};

/// An entry that differs from that of every other number in request, image and key; with two headers
/// and a witness. All samples share source and headers.
[[nodiscard]] Sample make_sample(int number, std::size_t image_bytes = 600);

/// The same without headers and witness.
[[nodiscard]] Sample make_plain_sample(int number);

/// Bytes that do not compress.
[[nodiscard]] std::string random_bytes(std::size_t size, unsigned seed);

[[nodiscard]] std::optional<Artifact> find(Cache& cache, const Sample& sample);

/// As it comes from the cache: its key known, its origin local.
[[nodiscard]] Artifact as_found(const Sample& sample);

/// Field by field, but for the origin.
[[nodiscard]] bool same_artifact(const Artifact& a, const Artifact& b);

[[nodiscard]] std::string read_file(const std::filesystem::path& file);
void write_file(const std::filesystem::path& file, std::string_view bytes);

/// Name, inode, size, mode and times of everything in a folder, and each file's bytes.
[[nodiscard]] std::map<std::string, std::string> snapshot(const std::filesystem::path& folder);

/// Its permissions; 0 where there is nothing. Follows no link.
[[nodiscard]] mode_t mode_of(const std::filesystem::path& path);

/// Runs SQL on a database file with a connection of its own.
void run_sql(const std::filesystem::path& file, const std::string& sql);

/// Runs `work` in a child process for each number below `count`, all let go at the same moment.
/// Gives what each returned; a child that died otherwise counts as -1.
[[nodiscard]] std::vector<int> run_processes(int count, const std::function<int(int)>& work);

inline constexpr unsigned nobody = 65534;

/// Somebody else, of one group beside his own, which has his number.
struct User {
  unsigned id = nobody;
  unsigned group = nobody;
  unsigned umask = 022;
};

/// Runs `work` in a child process as this user and gives the text it returned. REQUIRES: running as root.
[[nodiscard]] std::string run_as(const User& user, const std::function<std::string()>& work);

}  // namespace kiln::test
