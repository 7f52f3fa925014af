#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "file/private_path.h"
#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/error.h"

namespace kiln {

// How processes take turns. `kernels.v1.flights` is locked in single bytes, far beyond its end, with
// locks that the kernel releases with their holder (open file description locks: they exclude threads
// of one process too, and do not go when another descriptor of the file is closed). Which bytes: a
// digest picks eight neighbours. The first is the turn; the others are for taking over: who finds the
// holder of a byte stopped (SIGSTOP, a debugger) asks for the next one.
//
// The file's content is a table of slots, picked by the digest as well and overwritten freely: who
// holds which byte, and what the last failure was, so that those who waited can share it. Whatever is
// in it is checked; nothing depends on its being there.

class Turn::Impl {
 public:
  /// A turn without a lock: nobody else is kept from having it too.
  Impl() = default;
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Waits for the turn; see Cache::take_turn().
  static std::unique_ptr<Impl> take(const std::filesystem::path& file, const Digest& what,
                                    std::chrono::milliseconds patience, const std::stop_token& stop,
                                    storage::Trust trust);

  [[nodiscard]] bool waited() const noexcept { return waited_; }
  [[nodiscard]] bool exclusive() const noexcept { return level_.has_value(); }
  [[nodiscard]] const std::optional<Error>& shared_failure() const noexcept { return failure_; }
  void fail(const Error& error) noexcept;

 private:
  bool open(const std::filesystem::path& file, storage::Trust trust);
  void wait(std::chrono::milliseconds patience, const std::stop_token& stop);
  [[nodiscard]] bool try_lock(unsigned level) const;
  void sign(unsigned level) const;
  [[nodiscard]] bool holder_is_stopped(unsigned level) const;
  [[nodiscard]] std::string read_failure_record() const;
  [[nodiscard]] std::optional<Error> decode_failure(const std::string& frame) const;

  Digest what_ = {};
  int descriptor_ = -1;
  int process_ = 0;
  bool waited_ = false;
  std::optional<unsigned> level_;
  std::optional<Error> failure_;
};

}  // namespace kiln
