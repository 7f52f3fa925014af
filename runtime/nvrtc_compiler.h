#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "compile_job.h"
#include "kiln/error.h"
#include "precompiled_headers.h"
#include "reading_watch.h"
#include "scratch_folder.h"
#include "vendor/nvrtc.h"

namespace kiln {

/// compile() with what makes it exact and quick: it asks NVRTC what it read, and has it keep the preludes
/// that repeat. Neither shows: image and log are those of a plain compile, byte for byte. What cannot be
/// had (no room for temporary files, an older NVRTC) is done without. One for each process. Safe to use
/// from any thread.
class NvrtcCompiler {
 public:
  /// Keeps up to so many bytes of precompiled headers; 0 for none. With a `watch`, which is borrowed, all runs
  /// must be on one thread.
  explicit NvrtcCompiler(std::uint64_t precompiled_max_bytes, ReadingWatch* watch = nullptr);

  /// Errors: those of compile().
  [[nodiscard]] Result<CompileOutcome> run(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                           const std::stop_token& stop = {});

 private:
  void set_up(const vendor::Nvrtc& nvrtc);
  /// A compile of which is known what it read, if that can be.
  [[nodiscard]] Result<CompileOutcome> observed(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                                const std::vector<std::string>& options,
                                                const std::stop_token& stop);
  [[nodiscard]] Result<CompileOutcome> watched(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                               const std::vector<std::string>& options,
                                               const std::stop_token& stop);
  [[nodiscard]] Result<CompileOutcome> traced(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                              std::vector<std::string> options,
                                              const std::stop_token& stop);
  [[nodiscard]] bool watch_sees_all(const vendor::Nvrtc& nvrtc, const CompileJob& wanted);
  [[nodiscard]] std::optional<CompileOutcome> with(PrecompiledPrelude& prelude,
                                                   const vendor::Nvrtc& nvrtc,
                                                   const CompileJob& job,
                                                   const std::stop_token& stop);
  [[nodiscard]] std::optional<CompileOutcome> make(PrecompiledPrelude& prelude,
                                                   const vendor::Nvrtc& nvrtc,
                                                   const CompileJob& job,
                                                   const std::stop_token& stop);
  [[nodiscard]] std::optional<CompileOutcome> use(PrecompiledPrelude& prelude,
                                                  const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                                  const std::stop_token& stop);

  const std::uint64_t precompiled_max_bytes_;
  ReadingWatch* const watch_;
  std::optional<bool> watch_sees_all_;  ///< Once it was tried out.
  std::once_flag set_up_;
  std::optional<ScratchFolder> scratch_;
  std::optional<PrecompiledHeaders> precompiled_;
  std::atomic<std::uint64_t> traces_{0};
};

/// The log of a program apart from its prelude's: what is left of `whole` when `rest`, the log of the same
/// compile with its prelude precompiled, is taken off its end. Nothing where that is no such end.
[[nodiscard]] std::optional<std::string> log_of_prelude(const std::string& whole,
                                                        const std::string& rest);

/// The log that a plain compile gives, put together from both.
[[nodiscard]] std::string join_logs(const std::string& prelude, const std::string& rest);

}  // namespace kiln
