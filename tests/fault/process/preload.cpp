// Put before a program with LD_PRELOAD: answers for the system as a network filesystem or a wrong clock
// would. KILN_FAULT names what: "nolocks", "stale", or "clock" with KILN_FAULT_SECONDS.

#include <dlfcn.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <string_view>

#define PRELOAD_EXPORT extern "C" __attribute__((visibility("default")))

/// What is faulty is so while this is not 0.
PRELOAD_EXPORT int kiln_fault_on;
int kiln_fault_on = 0;

namespace {

bool active(std::string_view fault) {
  const char* named = ::getenv("KILN_FAULT");
  return kiln_fault_on != 0 && named != nullptr && named == fault;
}

time_t shift() {
  const char* seconds = active("clock") ? ::getenv("KILN_FAULT_SECONDS") : nullptr;
  return seconds != nullptr ? ::atol(seconds) : 0;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
         command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

template <class... Argument>
int refuse_lock() {
  errno = ENOLCK;
  return -1;
}

int control(const char* name, int descriptor, int command, void* argument) {
  if (is_lock(command) && active("nolocks")) return refuse_lock();
  return next<int(int, int, ...)>(name)(descriptor, command, argument);
}

}  // namespace

PRELOAD_EXPORT int fcntl(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return control("fcntl", descriptor, command, argument);
}

PRELOAD_EXPORT int fcntl64(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return control("fcntl64", descriptor, command, argument);
}

PRELOAD_EXPORT int flock(int descriptor, int operation) noexcept {
  if (active("nolocks")) return refuse_lock();
  return next<int(int, int)>("flock")(descriptor, operation);
}

PRELOAD_EXPORT ssize_t pread(int descriptor, void* to, size_t size, off_t offset) {
  if (active("stale")) {
    errno = ESTALE;
    return -1;
  }
  return next<ssize_t(int, void*, size_t, off_t)>("pread")(descriptor, to, size, offset);
}

PRELOAD_EXPORT ssize_t pread64(int descriptor, void* to, size_t size, off64_t offset) {
  return pread(descriptor, to, size, offset);
}

PRELOAD_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = next<int(clockid_t, timespec*)>("clock_gettime")(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += shift();
  return result;
}

PRELOAD_EXPORT time_t time(time_t* to) noexcept {
  const time_t now = next<time_t(time_t*)>("time")(nullptr) + shift();
  if (to != nullptr) *to = now;
  return now;
}
