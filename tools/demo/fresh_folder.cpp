#include "fresh_folder.h"

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

namespace demo {

namespace {

namespace fs = std::filesystem;

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Blocks those that would end this process; one that is ignored, as SIGHUP is by nohup, stays so.
sigset_t hold_ending_signals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    if (!is_ignored(signal)) sigaddset(&held, signal);
  }
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
  return held;
}

fs::path make_folder() {
  std::string pattern = fs::temp_directory_path() / "kiln-demo-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw fs::filesystem_error("no folder for the cache", pattern,
                               std::error_code(errno, std::generic_category()));
  }
  return pattern;
}

/// While other threads go on writing: what comes in between is removed as well.
void remove_folder(const fs::path& folder) {
  std::error_code failure;
  for (int attempt = 0; attempt < 100; ++attempt) {
    fs::remove_all(folder, failure);
    if (!failure) return;
  }
}

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
}

}  // namespace

FreshFolder::FreshFolder() {
  const auto held = hold_ending_signals();
  path_ = make_folder();
  // Not in a handler, where removing a folder is forbidden. It waits for good, so that a signal ends the process
  // after this object's end, too.
  std::thread([held, folder = path_] {
    int signal = 0;
    if (sigwait(&held, &signal) != 0) return;
    remove_folder(folder);
    end_by(signal);
  }).detach();
}

FreshFolder::~FreshFolder() { remove_folder(path_); }

}  // namespace demo
