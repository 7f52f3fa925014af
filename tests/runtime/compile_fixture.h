#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/kiln.h"
#include "support/scratch.h"

namespace kiln::test {

/// Whether this process has NVRTC mapped. One that ran other tests before may have it from them.
inline bool has_nvrtc_mapped() {
  return read_file("/proc/self/maps").find("libnvrtc") != std::string::npos;
}

/// One cache in a scratch directory, asked by a runtime of its own each time, as a new process would.
class CompileFixture : public ::testing::Test {
 protected:
  Result<Artifact> try_compile(ProgramSpec spec, const std::string& arch = "sm_80",
                               ImageKind kind = ImageKind::cubin) {
    auto program = Program::make(std::move(spec));
    if (!program) return tl::unexpected(program.error());
    auto target = Target::parse(arch, kind);
    if (!target) return tl::unexpected(target.error());
    auto runtime = Runtime::open(options());
    if (!runtime) return tl::unexpected(runtime.error());
    return runtime->compile(*program, *target);
  }

  /// Where the artifact came from; a failure of the test if there is none.
  Origin origin_of(ProgramSpec spec, const std::string& arch = "sm_80",
                   ImageKind kind = ImageKind::cubin) {
    const auto artifact = try_compile(std::move(spec), arch, kind);
    EXPECT_TRUE(artifact) << artifact.error().message << '\n' << artifact.error().log;
    return artifact ? artifact->origin : Origin::bundle;
  }

  RuntimeOptions options() {
    RuntimeOptions options;
    options.cache_directory = cache_directory();
    options.compile_workers = compile_workers_;
    options.observer = [this](const Event& event) {
      if (event.kind == EventKind::not_stored) not_stored_.emplace_back(event.detail);
      if (event.kind == EventKind::miss) misses_.emplace_back(event.detail);
    };
    return options;
  }

  [[nodiscard]] std::filesystem::path cache_directory() const { return scratch_ / "cache"; }

  ScratchDirectory scratch_;
  unsigned compile_workers_ = 0;
  std::vector<std::string> not_stored_;
  std::vector<std::string> misses_;
};

}  // namespace kiln::test
