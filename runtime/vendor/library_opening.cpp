#include "vendor/library_opening.h"

#include <array>
#include <csignal>

#include "vendor/library_imports.h"

namespace kiln::vendor {

namespace {

int register_nothing(void (*)(void*), void*, void*) { return 0; }

sighandler_t set_no_handler(int, sighandler_t) { return SIG_IGN; }

// What NVIDIA's libraries register with exit() amid their work would be destroyed before anybody waits for that work; it is
// memory, which goes with the process. NVRTC's front end sets up handlers that end the process at a signal, and leaves the
// default ones behind: they are the host's. Told that all are ignored, it leaves them alone.
void have_it_leave_the_process_alone(const SharedLibrary& library) {
  const std::array replacements{
      ImportReplacement{"__cxa_atexit", reinterpret_cast<void*>(register_nothing)},
      ImportReplacement{"signal", reinterpret_cast<void*>(set_no_handler)}};
  // 0 is where the program itself lies, if it was linked to a fixed place.
  if (const auto address = library.address(); address != 0)
    static_cast<void>(replace_imports(address, replacements, {}));
}

}  // namespace

Result<SharedLibrary> open_library(const WantedLibrary& wanted, const LibrarySearch& search) {
  if (!search.files) return missing(wanted, search);
  auto library = SharedLibrary::open(search.files->library.string());
  if (!library) return unusable(wanted, *search.files, library.error().message);
  // Where a host that loaded kiln as a plugin unloads that, the library's calls, and a compile that nobody waits for any more,
  // would lead into what is gone.
  keep_loaded(reinterpret_cast<void (*)()>(register_nothing));
  have_it_leave_the_process_alone(*library);
  return library;
}

}  // namespace kiln::vendor
