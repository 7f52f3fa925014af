#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "compile/compile_job.h"
#include "compile/file_snapshot.h"
#include "compile/precompiled_headers.h"
#include "kiln/error.h"
#include "vendor/nvrtc.h"

namespace kiln {

/// Calls compile(), and makes it exact and quick. A snapshot answers NVRTC's questions about files, and tells
/// afterwards what they were; the preludes that repeat are precompiled. Neither shows: image and log are those of
/// a plain compile, byte for byte. Where there is no room for temporary files, and with an older NVRTC, it does
/// without. One for each process. Safe to use from any thread.
class ObservedCompiler {
 public:
  /// Keeps up to so many bytes of precompiled headers; 0 for none.
  explicit ObservedCompiler(std::uint64_t precompiled_max_bytes);

  /// Errors: those of compile().
  [[nodiscard]] Result<CompileOutcome> run(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                           const std::stop_token& stop = {});

 private:
  /// What one call of run() was given.
  struct Call {
    const vendor::Nvrtc& nvrtc;
    const CompileJob& job;
    const std::stop_token& stop;
    std::optional<NamedRoots> roots = {};

    [[nodiscard]] const NamedRoots* names() const { return roots ? &*roots : nullptr; }
    [[nodiscard]] Result<CompileOutcome> compile_from(
        FileSnapshot& files, const std::vector<std::string>& options) const;
  };

  [[nodiscard]] static Result<CompileOutcome> trace(const vendor::Nvrtc& nvrtc,
                                                    const CompileJob& job,
                                                    const std::stop_token& stop);
  void set_up(const vendor::Nvrtc& nvrtc);
  [[nodiscard]] Result<CompileOutcome> run(const Call& call);
  [[nodiscard]] FileSnapshot files_of(const Call& call) const;
  [[nodiscard]] std::optional<CompileOutcome> with(PrecompiledPrelude& prelude,
                                                   const Call& call) const;
  [[nodiscard]] std::optional<CompileOutcome> make(PrecompiledPrelude& prelude,
                                                   const Call& call) const;
  [[nodiscard]] static bool learn(PrecompiledPrelude& prelude, FileSnapshot& files,
                                  const CompileOutcome& made, const Call& call);
  [[nodiscard]] static std::optional<CompileOutcome> use(const PrecompiledPrelude& prelude,
                                                         FileSnapshot& files, const Call& call);

  const std::uint64_t precompiled_max_bytes_;
  std::once_flag set_up_;
  std::optional<ScratchFolder> scratch_;
  std::optional<PrecompiledHeaders> precompiled_;
};

/// The log of a program apart from its prelude's: what is left of `whole` when `rest`, the log of the same
/// compile with its prelude precompiled, is taken off its end. Nothing where that is no such end.
[[nodiscard]] std::optional<std::string> log_of_prelude(const std::string& whole,
                                                        const std::string& rest);

/// The log that a plain compile gives, put together from both.
[[nodiscard]] std::string join_logs(const std::string& prelude, const std::string& rest);

}  // namespace kiln
