#include "vendor/shared_library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "system/no_fork.h"

namespace kiln::vendor {
namespace {

/// The file behind a handle; the name it was opened by where the loader does not tell.
std::filesystem::path file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  const bool told = dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
                    map != nullptr && map->l_name != nullptr && map->l_name[0] != '\0';
  std::error_code ignored;
  const std::filesystem::path found = told ? map->l_name : name.c_str();
  const std::filesystem::path absolute = std::filesystem::absolute(found, ignored);
  return absolute.empty() ? found : absolute;
}

std::atomic<int> loading = 0;          ///< How many threads load a library now.
thread_local bool is_loading = false;  ///< Whether this thread does.
std::atomic<bool> cut_short = false;   ///< Set in a child whose parent was loading one.

// A fork waits until a library is loaded, but not for ever. A child that was forked amid a load has a library
// that its loader takes for a loaded one, and whose functions cannot be called.
class Loading {
 public:
  Loading() noexcept {
    [[maybe_unused]] static const int watched = ::pthread_atfork(nullptr, nullptr, begin_in_child);
    ++loading;
    is_loading = true;
  }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;
  ~Loading() {
    is_loading = false;
    --loading;
  }

 private:
  static void begin_in_child() noexcept {
    const int own = is_loading ? 1 : 0;
    if (loading.exchange(own) > own) cut_short = true;
  }

  const system::NoFork no_fork_;
};

}  // namespace

SharedLibrary::SharedLibrary(void* handle, std::filesystem::path path)
    : handle_(handle), path_(std::move(path)) {}

Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  if (cut_short) {
    return fail(
        ErrorCode::io_failed,
        fmt::format("not loaded: this process was forked while its parent loaded a library, "
                    "and {} may be half loaded; load it before, or fork before that",
                    name));
  }
  const Loading loading_now;
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(ErrorCode::io_failed, dlerror());
  return SharedLibrary(handle, file_of(handle, name));
}

Result<SharedLibrary> SharedLibrary::already_loaded(const std::string& soname) {
  void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  // The loader's own words would be those for a file that does not exist, or none.
  if (handle == nullptr) return fail(ErrorCode::io_failed, "not loaded in this process");
  return SharedLibrary(handle, file_of(handle, soname));
}

std::uintptr_t SharedLibrary::address() const noexcept {
  const link_map* map = nullptr;
  return ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_addr : 0;
}

void* SharedLibrary::symbol(const char* name) const noexcept { return dlsym(handle_, name); }

std::filesystem::path own_file() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code failure;
  const auto own = std::filesystem::canonical(info.dli_fname, failure);
  return failure ? std::filesystem::path() : own;
}

void keep_loaded(void (*function)()) noexcept {
  Dl_info holder{};
  if (dladdr(reinterpret_cast<void*>(function), &holder) == 0) return;
  // Fails for a program, which nobody unloads.
  dlopen(holder.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

std::string describe(const SearchStep& step) {
  return step.place + " (" + step.origin + "): " + step.outcome;
}

std::string describe(const std::vector<SearchStep>& steps) {
  std::string text;
  for (const SearchStep& step : steps) {
    if (!text.empty()) text += '\n';
    text += "  " + describe(step);
  }
  return text;
}

}  // namespace kiln::vendor
