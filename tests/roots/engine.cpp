// A small engine for machines of every kind: has each kernel of the demo served, and launches it where there
// is a driver. Compiles nothing unless it has to.
//
//   engine [--launch]
//
// Says on one line how many kernels were served, compiled and launched; a failure is its error, and status 1.

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "decoder_block.h"
#include "kiln/runtime.h"

namespace {

using kiln::Outcome;
using kiln::Result;

/// Zeros of each parameter's size. A kernel that takes them is not meant to do anything with them.
kiln::Args zeros_for(const kiln::KernelInfo& info) {
  static const std::vector<std::byte> zeros(kiln::Args::max_bytes);
  kiln::Args args;
  for (const auto& parameter : info.params)
    args.add(std::span<const std::byte>(zeros.data(), parameter.size));
  return args;
}

Outcome launch(kiln::Runtime& runtime, const kiln::Program& program, std::string_view expression) {
  const auto kernel = runtime.kernel(program, expression);
  if (!kernel) return tl::unexpected(kernel.error());
  return kernel->launch(nullptr, {}, zeros_for(kernel->info()));
}

Result<int> use(kiln::Runtime& runtime, const kiln::Program& program, bool launches) {
  int launched = 0;
  if (!launches) {
    const auto artifact = runtime.compile(program, kiln::Target::parse("sm_90a").value());
    if (!artifact) return tl::unexpected(artifact.error());
    return launched;
  }
  for (const auto& expression : program.kernels()) {
    if (auto done = launch(runtime, program, expression); !done)
      return tl::unexpected(done.error());
    ++launched;
  }
  return launched;
}

Result<int> use_all(kiln::Runtime& runtime, bool launches) {
  int launched = 0;
  for (auto& spec : demo::decoder_block()) {
    const auto program = kiln::Program::make(std::move(spec));
    if (!program) return tl::unexpected(program.error());
    const auto done = use(runtime, *program, launches);
    if (!done) return done;
    launched += *done;
  }
  return launched;
}

int run(bool launches) {
  auto runtime = kiln::Runtime::open();
  const auto launched = runtime ? use_all(*runtime, launches) : tl::unexpected(runtime.error());
  if (!launched) {
    std::fprintf(stderr, "%s\n", launched.error().message.c_str());
    return 1;
  }
  const auto counters = runtime->counters();
  std::printf("%u from bundles, %u compiled, %d launched\n",
              static_cast<unsigned>(counters.bundle_hits), static_cast<unsigned>(counters.compiles),
              *launched);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 && std::string_view(argv[1]) == "--launch"); }
