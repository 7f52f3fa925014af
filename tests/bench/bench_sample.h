#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/cache.h"

namespace kiln::bench {

inline constexpr std::size_t image_bytes = 26'000;

/// Bytes that compress as cubins of their size do (26 KB to 5 KB or so), and that no other number has.
/// Where KILN_BENCH_IMAGE names a file, the bytes of it.
[[nodiscard]] std::string make_image(std::uint64_t number, std::size_t bytes = image_bytes);

/// An entry to store, owned.
struct Sample {
  std::string source;
  std::vector<std::string> headers;
  Request request;
  DependencySet dependencies;
  Artifact artifact;
  std::vector<KernelCode> code;

  /// The source and the headers. Borrows the sample.
  [[nodiscard]] std::vector<Text> texts() const;
};

/// The request of entry `number`; each differs in an option, all share one source.
[[nodiscard]] Request make_request(std::uint64_t number);

/// An entry without headers.
[[nodiscard]] Sample make_sample(std::uint64_t number, std::size_t bytes = image_bytes);

/// One of many entries of an engine: every tenth has a source of its own, each has 20 headers, and every
/// hundredth a header that the ones before do not have.
[[nodiscard]] Sample make_engine_sample(std::uint64_t number);

/// What all entries are compiled with.
[[nodiscard]] const Toolchain& toolchain();

}  // namespace kiln::bench
