#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/request.h"

namespace kiln {

/// The artifacts that this process has used, by request digest. It is the first layer, and the only one if there is no usable
/// cache. Holds at most so many bytes of images; drops those first that were used longest ago. Safe to use from any thread.
class MemoryLayer {
 public:
  explicit MemoryLayer(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Says whether an entry serves. `witness` is nullptr if there is none for the include directories that were asked about,
  /// `signed_texts` where no trusted key's word counts.
  using Accept = std::function<bool(const DependencySet& dependencies, const Toolchain& toolchain,
                                    const Witness* witness, const SignedTexts* signed_texts)>;

  /// The first artifact of the request that `accept` takes, or nullptr. `roots` as a Witness has them.
  [[nodiscard]] std::shared_ptr<const Artifact> find(const Digest& request, const Digest& roots,
                                                     const Accept& accept);

  /// Keeps an artifact, in the place of one of the same key. `witness` may be empty.
  void put(const Digest& request, DependencySet dependencies, Witness witness,
           const Toolchain& toolchain, std::shared_ptr<const Artifact> artifact);

  /// Lets it hold so many bytes from now on.
  void limit_to(std::size_t most_bytes);

  /// Drops the artifact of this key.
  void forget(const Digest& key);

 private:
  struct Entry {
    Digest request;
    DependencySet dependencies;
    Witness witness;
    Toolchain toolchain;
    std::shared_ptr<const Artifact> artifact;
  };
  using Entries = std::list<Entry>;  // Most recently used first.

  void drop_surplus();
  void drop(Entries::iterator entry);

  std::mutex mutex_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  Entries entries_;
  std::unordered_multimap<Digest, Entries::iterator, DigestHash> by_request_;
};

}  // namespace kiln
