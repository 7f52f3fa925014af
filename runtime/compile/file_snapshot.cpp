#include "compile/file_snapshot.h"

#include <stdio_ext.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/working_directory.h"
#include "source/header_files.h"
#include "source/placed_text.h"
#include "source/places.h"

namespace kiln {

namespace {

// How often a file may be written anew while it is read, before that is given up.
constexpr int most_tries = 8;

// NVRTC's own header and its list of names, which it asks for like an embedded one.
constexpr std::array<std::string_view, 2> built_in{"__nv_nvrtc_builtin_header.h", "__nv_name_map"};

// With these errors the next look-up of the same path fails as well; any other may be a moment's trouble.
bool says_absent(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG ||
         error == EACCES;
}

// A place in a text that is read like a file.
struct OpenText {
  std::shared_ptr<const std::string> text;
  std::function<void()> when_read;  // Once.
  std::size_t position = 0;
};

ssize_t read_text(void* cookie, char* buffer, std::size_t size) {
  auto& open = *static_cast<OpenText*>(cookie);
  const auto count = open.text->copy(buffer, size, open.position);
  open.position += count;
  if (const auto tell = std::exchange(open.when_read, nullptr)) tell();
  return static_cast<ssize_t>(count);
}

int seek_text(void* cookie, off64_t* offset, int whence) {
  auto& open = *static_cast<OpenText*>(cookie);
  const auto size = static_cast<off64_t>(open.text->size());
  const auto from = whence == SEEK_SET   ? 0
                    : whence == SEEK_CUR ? static_cast<off64_t>(open.position)
                                         : size;
  const auto wanted = from + *offset;
  if (wanted < 0 || wanted > size) return -1;
  open.position = static_cast<std::size_t>(wanted);
  *offset = wanted;
  return 0;
}

int close_text(void* cookie) {
  delete static_cast<OpenText*>(cookie);
  return 0;
}

// Needs no descriptor, of which there may be none left. One thread reads it, a character at a time: without its lock,
// which each character would cost in a process of many threads.
std::FILE* open_text(std::shared_ptr<const std::string> text, std::function<void()> when_read) {
  auto* const open = new OpenText{std::move(text), std::move(when_read)};
  std::FILE* const file = ::fopencookie(open, "r", {read_text, nullptr, seek_text, close_text});
  if (file == nullptr) {
    close_text(open);
    return nullptr;
  }
  ::__fsetlocking(file, FSETLOCKING_BYCALLER);
  return file;
}

}  // namespace

FileSnapshot::FileSnapshot(const std::vector<HeaderForCompiler>& embedded, std::string own_folder,
                           const NamedRoots* roots, bool hides_working_directory)
    : roots_(roots),
      own_folder_(std::move(own_folder)),
      working_directory_(kiln::working_directory()),
      stands_at_root_(hides_working_directory || working_directory_.empty()),
      events_(std::make_shared<std::uint32_t>(0)) {
  for (const auto& header : embedded) embedded_names_.insert(header.name);
}

bool FileSnapshot::is_own(std::string_view path) const {
  return !own_folder_.empty() && path.starts_with(own_folder_);
}

void FileSnapshot::doubt(std::string why) {
  if (doubt_.empty()) doubt_ = std::move(why);
}

void FileSnapshot::note_writing(std::string_view path) {
  if (is_own(path) && !before_writing_)
    before_writing_ = Counts{asked_.size(), embedded_read_.size(), *events_};
}

std::optional<Readings> FileSnapshot::readings_before_writing() const {
  if (!before_writing_) return std::nullopt;
  auto before = readings();
  before.files.resize(before_writing_->files);
  before.embedded.resize(before_writing_->embedded);
  for (auto& file : before.files) {
    if (file.read_at > before_writing_->events) file.read_at = 0;
  }
  return before;
}

void FileSnapshot::each_text_before_writing(
    const std::function<void(std::string_view)>& look) const {
  const auto count = before_writing_ ? before_writing_->files : 0;
  for (std::size_t number = 0; number < count; ++number) {
    const auto& file = *files_.at(asked_[number]).file;
    if (file.is_loaded) look(file.text);
  }
}

// Of an embedded header NVRTC asks how the file of its bare name looks, when it reads it; 13.5 asks for that
// name below the working directory. There is none: a header of that name is the embedded one.
bool FileSnapshot::note_embedded(const std::string& path) {
  const auto below_here =
      working_directory_.empty() ? std::nullopt : below(working_directory_, path);
  const std::string_view name = below_here.value_or(path);
  const auto at = embedded_names_.find(name);
  if (at != embedded_names_.end()) {
    note_embedded_read(*at, *events_ + 1);
    return name.size() == path.size();
  }
  return std::find(built_in.begin(), built_in.end(), name) != built_in.end();
}

void FileSnapshot::note_embedded_read(std::string_view name, std::uint32_t at) {
  const bool known =
      std::any_of(embedded_read_.begin(), embedded_read_.end(),
                  [&](const EmbeddedReading& reading) { return reading.name == name; });
  if (known) return;
  embedded_read_.push_back({std::string(name), at});
  *events_ = std::max(*events_, at);
}

int FileSnapshot::stat(const char* path, struct stat* status) {
  if (is_own(path)) return ::stat(path, status);
  // The compiler takes PWD's word for where it stands if that is this folder. Else it asks working_directory().
  const bool asks_where_it_stands = std::string_view(path) == ".";
  if (asks_where_it_stands || note_embedded(path)) {
    errno = ENOENT;
    return -1;
  }
  const auto& file = look(path, false);
  if (file->error != 0) {
    errno = file->error;
    return -1;
  }
  *status = file->status;
  return 0;
}

char* FileSnapshot::working_directory(char* buffer, std::size_t size) const {
  const std::string_view told = stands_at_root_ ? std::string_view("/") : working_directory_;
  if (buffer == nullptr) return ::strdup(told.data());
  if (size <= told.size()) {
    errno = ERANGE;
    return nullptr;
  }
  return static_cast<char*>(std::memcpy(buffer, told.data(), told.size() + 1));
}

std::FILE* FileSnapshot::open(const char* path) {
  if (is_own(path)) return ::fopen(path, "r");
  const auto file = look(path, true);
  if (file->error != 0) {
    errno = file->error;
    return nullptr;
  }
  // A FIFO would keep the compiler waiting for a writer, and a device may have no end.
  const auto mode = file->status.st_mode;
  if (!S_ISREG(mode) && !S_ISDIR(mode)) {
    errno = ENXIO;
    return nullptr;
  }
  // A folder can be opened too, and not be read.
  auto& asked = files_.at(path);
  const auto& on_disk = asked.path;
  if (!file->regular || file->read_error == EFBIG) return ::fopen(on_disk.c_str(), "r");
  if (file->read_error == 0 && !file->is_loaded && !load(on_disk, *file)) {
    doubt(on_disk + " changed since a precompiled header was made from it");
    file->read_error = ESTALE;
  }
  if (file->read_error != 0) {
    errno = file->read_error;
    return nullptr;
  }
  if (asked.text == nullptr) asked.text = text_of(asked);
  return open_text(asked.text, [file, events = events_] {
    if (file->read_at == 0) file->read_at = ++*events;
  });
}

std::shared_ptr<const std::string> FileSnapshot::text_of(const Asked& asked) {
  if (asked.root == Reading::no_root) return {asked.file, &asked.file->text};
  return std::make_shared<const std::string>(text_at(asked.path, asked.file->text));
}

// A path that only looks as if it began with a root's name was made of one, by a compiler that shortens paths.
void FileSnapshot::resolve(const std::string& asked_as, Asked& asked) {
  auto resolved = roots_ != nullptr ? roots_->resolve(asked_as) : std::nullopt;
  asked.root = resolved ? resolved->root : Reading::no_root;
  if (resolved) {
    asked.path = std::move(resolved->path);
    return;
  }
  asked.path = asked_as;
  if (roots_ != nullptr && asked_as.starts_with(NamedRoots::beginning()))
    doubt("the compiler asked for " + asked_as);
}

const FileSnapshot::FilePtr& FileSnapshot::look(const std::string& asked, bool opening) {
  auto [at, is_new] = files_.try_emplace(asked);
  if (is_new) {
    resolve(asked, at->second);
    at->second.file = look_at_disk(at->second.path);
    met_second_name_ |= at->second.file->is_adopted;
  }
  // NVRTC opens every header that it looks for: a look at what is no file tells it nothing until then.
  if (at->second.at == 0 && (opening || at->second.file->regular))
    note(asked, at->second, ++*events_);
  return at->second.file;
}

void FileSnapshot::note(const std::string& asked_as, Asked& asked, std::uint32_t at) {
  asked.at = at;
  asked_.push_back(asked_as);
  relative_ |= !asked_as.starts_with('/');
}

FileSnapshot::FilePtr FileSnapshot::look_at_disk(const std::string& path) {
  auto file = std::make_shared<File>();
  for (int tries = 0; tries < most_tries; ++tries) {
    if (::stat(path.c_str(), &file->status) != 0) {
      file->error = errno;
      if (!says_absent(errno)) doubt(fmt::format("{}: {}", path, std::strerror(file->error)));
      return file;
    }
    if (!S_ISREG(file->status.st_mode)) return file;
    const auto identity = std::pair(file->status.st_dev, file->status.st_ino);
    file->stamp = stamp_in(file->status);
    const auto known = by_identity_.find(identity);
    if (known != by_identity_.end()) {
      if (known->second->stamp == file->stamp) return known->second;
      // Written anew; or that one is gone, and its number was given to another.
      doubt(path + " was another file a moment ago");
    }
    if (load(path, *file) || file->read_error != 0) {
      file->regular = true;
      by_identity_.insert_or_assign(identity, file);
      return file;
    }
  }
  doubt(path + " changes all the time");
  file->regular = true;
  file->read_error = ESTALE;
  return file;
}

// False where the file cannot be read, or is another one by now.
bool FileSnapshot::load(const std::string& path, File& file) {
  const auto read = read_file(path, file.stamp);
  if (read.error != 0) {
    file.read_error = read.error;
    doubt(fmt::format("{} cannot be read: {}", path, std::strerror(read.error)));
  }
  if (!read.text) return false;
  const auto content = digest_of(read.text->view());
  if (!file.content.empty() && file.content != content) {
    doubt(path + " is another one than a precompiled header was made from");
    return false;
  }
  file.text = read.text->view();
  file.content = content;
  file.is_loaded = true;
  return true;
}

bool FileSnapshot::adopt(const Readings& readings, std::chrono::system_clock::time_point when) {
  if (!readings.doubt.empty()) return false;
  if (readings.relative && readings.working_directory != working_directory_) return false;
  for (const auto& [name, read_at] : readings.embedded) {
    if (!embedded_names_.contains(name)) return false;
    note_embedded_read(name, read_at);
  }
  return std::all_of(readings.files.begin(), readings.files.end(),
                     [&](const Reading& reading) { return adopt(reading, when); }) &&
         are_one_as_then(readings);
}

// `#pragma once` goes by the file: headers of one text may have been one file then, and be two by now.
bool FileSnapshot::are_one_as_then(const Readings& readings) const {
  using Identity = std::pair<std::uint64_t, std::uint64_t>;
  std::map<Identity, const File*> now;
  std::map<const File*, Identity> then;
  return std::all_of(readings.files.begin(), readings.files.end(), [&](const Reading& reading) {
    if (!reading.found) return true;
    const Identity identity{reading.stamp.device, reading.stamp.inode};
    const auto asked_as = roots_ != nullptr ? roots_->asked(reading) : reading.path;
    const auto* const file = files_.at(asked_as).file.get();
    return now.emplace(identity, file).first->second == file &&
           then.emplace(file, identity).first->second == identity;
  });
}

bool FileSnapshot::adopt(const Reading& reading, std::chrono::system_clock::time_point when) {
  const auto asked_as = roots_ != nullptr ? roots_->asked(reading) : reading.path;
  auto& asked = files_[asked_as];
  resolve(asked_as, asked);
  struct stat status {};
  const bool as_it_was = reading.found && !asked.file &&
                         ::stat(reading.path.c_str(), &status) == 0 &&
                         stamp_in(status) == reading.stamp && is_settled(reading.stamp, when) &&
                         !images_.may_hold(reading.path, reading.stamp);
  if (as_it_was) {
    auto& known = by_identity_[{status.st_dev, status.st_ino}];
    if (known == nullptr) {
      known = std::make_shared<File>();
      known->status = status;
      known->regular = true;
      known->content = reading.content;
      known->stamp = reading.stamp;
    }
    asked.file = known;
  }
  if (!asked.file) asked.file = look_at_disk(reading.path);
  asked.file->is_adopted = true;
  if (asked.file->read_at == 0) asked.file->read_at = reading.read_at;
  *events_ = std::max({*events_, reading.asked_at, reading.read_at});
  note(asked_as, asked, reading.asked_at);
  const bool found = asked.file->regular && asked.file->read_error == 0;
  return found == reading.found && (!found || asked.file->content == reading.content);
}

Readings FileSnapshot::readings() const {
  Readings readings;
  readings.files.reserve(asked_.size());
  for (const auto& asked_as : asked_) {
    const auto& asked = files_.at(asked_as);
    const auto& file = *asked.file;
    const bool found = file.regular && file.read_error == 0;
    readings.files.push_back({asked.path, asked.root, found, found ? file.content : Digest{},
                              found ? file.stamp : FileStamp{}, asked.at, file.read_at});
  }
  readings.embedded = embedded_read_;
  readings.working_directory = working_directory_;
  readings.rooted = roots_ != nullptr;
  readings.relative = relative_;
  readings.doubt = lost_track_ && doubt_.empty() ? "memory ran out meanwhile" : doubt_;
  return readings;
}

}  // namespace kiln
