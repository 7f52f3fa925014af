#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compile/compile_job.h"
#include "kiln/digest.h"
#include "source/reading.h"

namespace kiln {

/// How much address space NVRTC's front end may use while precompiled headers are on, which no prelude can exceed.
/// All of CUB takes 178 MB with CUDA 13.0, 309 MB with 13.5; NVRTC's own choice is 256 MiB.
inline constexpr std::size_t precompiled_heap_bytes = std::size_t{512} << 20;

/// One prelude, precompiled: the headers that a source begins with, as NVRTC keeps them in a file of a
/// folder of their own. Programs of one CompileJob::prelude share it.
///
/// NVRTC's automatic mode looks at names only, and serves another text under the same name; the folder,
/// named by the digest of all contents, is what makes it safe.
struct PrecompiledPrelude {
  enum class State {
    unmade,
    made,
    impossible,  ///< NVRTC makes none of it, its log cannot be told apart from the programs', or it may tell a program's name.
  };

  /// Held alone while the prelude is made, and with others while it is used. Guards all that follows but the folder.
  std::shared_mutex mutex;
  State state = State::unmade;
  std::filesystem::path folder;
  std::string log;                             ///< The warnings of the prelude's own headers.
  Readings readings;                           ///< What it was made from.
  std::string program;                         ///< The name of that which it was made of.
  std::chrono::system_clock::time_point made;  ///< When that was begun.

  /// For NVRTC.
  [[nodiscard]] std::vector<std::string> options() const;

  /// How many precompiled files are there; one, once it is made.
  [[nodiscard]] std::size_t files() const;

  /// Removes the files, so that none of them is used: it is unmade.
  void discard();
};

/// The precompiled preludes of this process, which alone can use them: NVRTC loads them at the addresses
/// where it made them. Bounded: those used longest ago are dropped. Safe to use from any thread.
class PrecompiledHeaders {
 public:
  /// Below `folder`, up to so many bytes; 0 keeps none.
  PrecompiledHeaders(std::filesystem::path folder, std::uint64_t max_bytes);

  /// The prelude of a job, to be used or made. nullptr where the job has none, where there is no room, and where the
  /// prelude is met for the first time and nobody said that it repeats.
  [[nodiscard]] std::shared_ptr<PrecompiledPrelude> of(const CompileJob& job);

 private:
  using Recent = std::list<std::pair<Digest, std::shared_ptr<PrecompiledPrelude>>>;

  [[nodiscard]] bool has_room() const;
  void drop_surplus();

  const std::filesystem::path folder_;
  const std::uint64_t max_bytes_;
  std::mutex mutex_;
  std::unordered_set<Digest, DigestHash> met_;
  Recent recent_;  ///< Most recently used first.
  std::unordered_map<Digest, Recent::iterator, DigestHash> by_digest_;
};

}  // namespace kiln
