#include "source/header_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "kiln/signing.h"
#include "source/joined_text.h"
#include "source/mounts.h"
#include "source/pieces.h"
#include "system/descriptor.h"
#include "system/standard_streams.h"

namespace kiln {

namespace {

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Leaves out device and inode: some filesystems give others for an open file than for its path.
bool looks_alike(const FileStamp& left, const FileStamp& right) {
  return left.size == right.size && left.modified_ns == right.modified_ns &&
         left.changed_ns == right.changed_ns;
}

// Longer than a tick of any filesystem's clock (FAT's is the longest).
constexpr std::int64_t youngest_settled_ns = 2'000'000'000;

// An engine has one or two sets of names.
constexpr std::size_t most_names_remembered = 4;

// Some times what an engine embeds; one may make its headers' texts anew for each program.
constexpr std::size_t most_embedded_remembered = 8'192;

// Of a file that has grown, one byte more than expected. Nothing where the system refuses, with errno.
std::optional<FileText> read_text(int descriptor, std::size_t expected) {
  const auto room = expected + 1;
  FileText text{std::make_unique_for_overwrite<char[]>(room)};
  while (text.size < room) {
    const auto got = ::read(descriptor, text.bytes.get() + text.size, room - text.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.size += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace

FileStamp stamp_in(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

FileRead read_file(const std::string& path, const FileStamp& found) {
  if (found.size > most_header_bytes) return {std::nullopt, EFBIG};
  const system::Descriptor file(system::open_file(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (!file) return {std::nullopt, errno == ENOENT || errno == ENOTDIR ? 0 : errno};
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return {std::nullopt, errno};
  if (!looks_alike(stamp_in(status), found)) return {};
  auto text = read_text(file.get(), found.size);
  if (!text) return {std::nullopt, errno};
  if (text->size != found.size || ::fstat(file.get(), &status) != 0 ||
      !looks_alike(stamp_in(status), found)) {
    return {};
  }
  FileRead read{std::move(text)};
  read.may_be_of_image = may_be_of_image(file.get(), found);
  if (read.may_be_of_image) read.mount = mount_of(file.get());
  return read;
}

std::optional<FileStamp> stamp_of(const std::string& path) {
  return stamp_of(AT_FDCWD, path.c_str());
}

std::optional<FileStamp> stamp_of(int directory, const char* path) {
  struct stat status;
  if (::fstatat(directory, path, &status, 0) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return stamp_in(status);
}

bool is_settled(const FileStamp& stamp, std::chrono::system_clock::time_point now) {
  const auto latest =
      std::chrono::nanoseconds(now.time_since_epoch()).count() - youngest_settled_ns;
  return stamp.modified_ns < latest && stamp.changed_ns < latest;
}

const MacroBodies& HeaderText::macros() const {
  std::call_once(macros_read_, [this] { macros_ = read_macros(text, directives.definitions); });
  return macros_;
}

const std::string& HeaderText::code() const {
  std::call_once(code_read_, [this] { code_ = code_in(text); });
  return code_;
}

Words HeaderText::pieces_of(const Words& names) const {
  const std::lock_guard lock(pieces_mutex_);
  if (const auto known = pieces_.find(names); known != pieces_.end()) return known->second;
  if (pieces_.size() >= most_names_remembered) pieces_.clear();
  auto& pieces = pieces_[names];
  add_pieces(code(), names, pieces);
  return pieces;
}

std::shared_ptr<const HeaderText> scan_text(std::string text) {
  auto header = std::make_shared<HeaderText>();
  header->text = std::move(text);
  header->digest = digest_of(header->text);
  header->directives = read_directives(header->text);
  return header;
}

std::shared_ptr<const HeaderText> HeaderFiles::read(const std::string& path,
                                                    const FileStamp& stamp) {
  if (const auto known = recall(path, stamp); known && known->text) return known->text;
  const auto read = read_file(path, stamp);
  if (!read.text) return nullptr;
  auto header = scan_text(std::string(read.text->view()));
  remember(path, read, {stamp, read.mount, header->digest, header});
  return header;
}

std::shared_ptr<const HeaderText> HeaderFiles::embedded(const EmbeddedHeader& header) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = embedded_.find(header.digest); known != embedded_.end())
      return known->second;
  }
  auto text = scan_text(std::string(header.text()));
  const std::lock_guard lock(mutex_);
  if (embedded_.size() >= most_embedded_remembered) embedded_.clear();
  return embedded_.try_emplace(header.digest, std::move(text)).first->second;
}

std::optional<Digest> HeaderFiles::digest(const std::string& path, const FileStamp& stamp) {
  if (const auto known = recall(path, stamp)) return known->digest;
  const auto read = read_file(path, stamp);
  if (!read.text) return std::nullopt;
  const auto found = digest_of(read.text->view());
  remember(path, read, {stamp, read.mount, found, nullptr});
  return found;
}

std::optional<std::string> HeaderFiles::hash(const std::string& path, const FileStamp& stamp) {
  auto known = recall(path, stamp);
  if (known && !known->hash.empty()) return known->hash;
  const auto read = read_file(path, stamp);
  if (!read.text) return std::nullopt;
  auto hash = text_hash(read.text->view());
  const auto header = known ? known->text : nullptr;
  remember(path, read, {stamp, read.mount, digest_of(read.text->view()), header, hash});
  return hash;
}

std::optional<HeaderFiles::Known> HeaderFiles::recall(const std::string& path,
                                                      const FileStamp& stamp) {
  std::optional<Known> known;
  {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(path);
    if (at != known_.end() && at->second.stamp == stamp) known = at->second;
  }
  if (known && known->mount != 0 && known->mount != mount_of(path)) return std::nullopt;
  return known;
}

void HeaderFiles::remember(const std::string& path, const FileRead& read, Known known) {
  const bool is_told = !read.may_be_of_image || read.mount != 0;
  if (!is_told || !is_settled(known.stamp)) return;
  const std::lock_guard lock(mutex_);
  known_[path] = std::move(known);
}

}  // namespace kiln
