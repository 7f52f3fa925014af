#include "compile/file_answers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include "system/standard_streams.h"
#include "vendor/library_imports.h"

namespace kiln {

namespace {

thread_local FileSnapshot* answering = nullptr;

// For the ways of asking that no NVRTC uses for headers: the snapshot does not learn what they tell.
void doubt(const char* function, const char* path) {
  if (answering == nullptr || answering->is_own(path)) return;
  try {
    answering->doubt(std::string("the compiler asked with ") + function + " for " + path);
  } catch (const std::exception&) {
    answering->lose_track();
  }
}

// Nothing may be thrown through the compiler.
template <class Result, class Answer>
Result guarded(Result failed, const Answer& answer) noexcept {
  try {
    return answer();
  } catch (const std::exception&) {
    answering->lose_track();
    errno = ENOMEM;
    return failed;
  }
}

std::FILE* answer_fopen(const char* path, const char* mode) {
  if (answering != nullptr && std::string_view(mode) == "r")
    return guarded<std::FILE*>(nullptr, [&] { return answering->open(path); });
  if (answering != nullptr && *mode == 'w') answering->note_writing(path);
  return ::fopen(path, mode);
}

int answer_stat(const char* path, struct stat* status) {
  if (answering == nullptr) return ::stat(path, status);
  return guarded(-1, [&] { return answering->stat(path, status); });
}

// Libraries call this that were linked with a glibc before 2.33. The number is the version of the structure, which
// has only one here.
int answer_xstat(int, const char* path, struct stat* status) { return answer_stat(path, status); }

int answer_lstat(const char* path, struct stat* status) {
  doubt("lstat", path);
  return ::lstat(path, status);
}

int answer_lxstat(int, const char* path, struct stat* status) { return answer_lstat(path, status); }

int answer_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    std::va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  } else {
    doubt("open", path);
  }
  return system::open_file(path, flags, mode);
}

int answer_access(const char* path, int mode) {
  doubt("access", path);
  return ::access(path, mode);
}

DIR* answer_opendir(const char* path) {
  doubt("opendir", path);
  return ::opendir(path);
}

ssize_t answer_readlink(const char* path, char* target, std::size_t size) {
  doubt("readlink", path);
  return ::readlink(path, target, size);
}

char* answer_realpath(const char* path, char* resolved) {
  doubt("realpath", path);
  return ::realpath(path, resolved);
}

char* answer_getcwd(char* buffer, std::size_t size) {
  return answering != nullptr ? answering->working_directory(buffer, size) : ::getcwd(buffer, size);
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

constexpr std::array unwelcome{"openat",     "openat64",
                               "fstatat",    "fstatat64",
                               "__fxstatat", "__fxstatat64",
                               "statx",      "faccessat",
                               "euidaccess", "freopen",
                               "freopen64",  "scandir",
                               "scandir64",  "glob",
                               "glob64",     "ftw",
                               "ftw64",      "nftw",
                               "nftw64",     "fts_open",
                               "readlinkat", "canonicalize_file_name"};

vendor::ReplacedImports replace() {
  const std::array replacements{
      vendor::ImportReplacement{"fopen", address_of(answer_fopen)},
      vendor::ImportReplacement{"fopen64", address_of(answer_fopen)},
      vendor::ImportReplacement{"open", address_of(answer_open)},
      vendor::ImportReplacement{"open64", address_of(answer_open)},
      vendor::ImportReplacement{"stat", address_of(answer_stat)},
      vendor::ImportReplacement{"stat64", address_of(answer_stat)},
      vendor::ImportReplacement{"__xstat", address_of(answer_xstat)},
      vendor::ImportReplacement{"__xstat64", address_of(answer_xstat)},
      vendor::ImportReplacement{"lstat", address_of(answer_lstat)},
      vendor::ImportReplacement{"lstat64", address_of(answer_lstat)},
      vendor::ImportReplacement{"__lxstat", address_of(answer_lxstat)},
      vendor::ImportReplacement{"__lxstat64", address_of(answer_lxstat)},
      vendor::ImportReplacement{"access", address_of(answer_access)},
      vendor::ImportReplacement{"opendir", address_of(answer_opendir)},
      vendor::ImportReplacement{"readlink", address_of(answer_readlink)},
      vendor::ImportReplacement{"realpath", address_of(answer_realpath)},
      vendor::ImportReplacement{"getcwd", address_of(answer_getcwd)},
  };
  return vendor::replace_imports("nvrtc", replacements, unwelcome);
}

}  // namespace

// On 64 bits the functions of both names are one.
static_assert(sizeof(struct stat) == sizeof(struct stat64));

bool FileAnswers::possible() {
  static std::mutex mutex;
  static std::uint64_t known_libraries = 0;
  static bool is_possible = false;
  const std::lock_guard lock(mutex);
  // NVRTC's tables of imports are long, and nothing changes in them but when a library is loaded.
  const auto libraries = vendor::libraries_ever_loaded();
  if (libraries == known_libraries) return is_possible;
  known_libraries = libraries;
  const auto result = replace();
  is_possible = result.complete && result.replaced != 0;
  return is_possible;
}

FileAnswers::FileAnswers(FileSnapshot& snapshot) { answering = &snapshot; }

FileAnswers::~FileAnswers() { answering = nullptr; }

}  // namespace kiln
