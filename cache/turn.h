#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "file/lock_descriptor.h"
#include "file/private_path.h"
#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/error.h"

namespace kiln {

// How processes take turns. They lock single bytes of `kernels.v1.flights`, far beyond its end. The locks belong to the
// open file: the kernel releases them with their holder, they exclude threads of one process too, and they stay when
// somebody closes another descriptor of the file. A digest picks eight neighbouring bytes. The first is the turn; the
// others are for taking over: a process that finds the holder of a byte stopped (SIGSTOP, a debugger) asks for the
// next one.
//
// The file's content is a table of slots, which a digest picks as well and anybody overwrites. A slot says who holds
// which byte, and what the last failure was, so that those can share it who came before that turn was had: what it failed by
// is no older than their question. Readers check all of it, and nothing depends on its being there.

class Turn::Impl {
 public:
  /// A turn without a lock: others may have it too.
  Impl() = default;
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Waits for the turn; see Cache::take_turn().
  static std::unique_ptr<Impl> take(const std::filesystem::path& file, const Digest& what,
                                    std::chrono::milliseconds patience, const std::stop_token& stop,
                                    const storage::Trust& trust);

  void fail(const Error& error) noexcept;

  bool waited = false;
  std::optional<unsigned> held = {};  ///< Which of the turn's bytes is held.
  std::optional<Error> failure = {};

 private:
  void wait(std::chrono::milliseconds patience, const std::stop_token& stop);
  [[nodiscard]] bool try_lock(unsigned level) const;
  void sign(unsigned level) const;
  [[nodiscard]] bool holder_is_stopped(unsigned level) const;
  [[nodiscard]] std::optional<Error> read_failure(std::uint64_t since_ns) const;
  [[nodiscard]] std::string read_failure_frame() const;

  Digest what_ = {};
  std::uint64_t began_ns_ = 0;  ///< When it was had.
  storage::LockDescriptor descriptor_;
};

}  // namespace kiln
