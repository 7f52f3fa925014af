#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compile_fixture.h"
#include "support/child.h"
#include "support/toolkit_tools.h"

namespace kiln::test {

/// Two programs, of which the kernels of one call a function of the other.
class ImagesFixture : public CompileFixture {
 protected:
  static ProgramSpec caller(const std::string& option = {}) {
    ProgramSpec spec{.name = "caller.cu",
                     .source = R"(
                       extern __device__ float twice(float);
                       template <class T> __global__ void scale(T* x, int n) { x[n] = twice(x[n]); }
                       extern "C" __global__ void plain(float* x) { *x = twice(*x); })",
                     .kernels = {"scale<float>", "plain"}};
    if (!option.empty()) spec.options.push_back(option);
    return spec;
  }

  static ProgramSpec callee(const std::string& option = {}, const std::string& factor = "2") {
    ProgramSpec spec{.name = "callee.cu",
                     .source = "__device__ float twice(float x) { return x * " + factor + "; }"};
    if (!option.empty()) spec.options.push_back(option);
    return spec;
  }

  Artifact image(ProgramSpec spec, ImageKind kind, const std::string& arch = "sm_90") {
    auto artifact = try_compile(std::move(spec), arch, kind);
    EXPECT_TRUE(artifact) << artifact.error().message << '\n' << artifact.error().log;
    return artifact ? std::move(*artifact) : Artifact{};
  }

  /// Both programs as this kind; machine code relocatable.
  std::vector<Artifact> both(ImageKind kind, const std::string& arch = "sm_90") {
    const std::string option = kind == ImageKind::ltoir ? "" : "-rdc=true";
    return {image(caller(option), kind, arch), image(callee(option), kind, arch)};
  }

  LinkSpec link_of(std::vector<Artifact> inputs, ImageKind kind = ImageKind::cubin,
                   const std::string& arch = "sm_90") {
    return {.name = "engine.link",
            .inputs = std::move(inputs),
            .target = Target::parse(arch, kind).value()};
  }

  /// By a runtime of its own, as in a new process.
  Result<Artifact> try_link(LinkSpec spec) {
    auto runtime = Runtime::open(options());
    if (!runtime) return tl::unexpected(runtime.error());
    return runtime->link(std::move(spec));
  }

  /// Fails the test where there is no artifact.
  Artifact linked(LinkSpec spec) {
    auto artifact = try_link(std::move(spec));
    EXPECT_TRUE(artifact) << artifact.error().message << '\n' << artifact.error().log;
    return artifact ? std::move(*artifact) : Artifact{};
  }

  Error link_error(LinkSpec spec) {
    const auto artifact = try_link(std::move(spec));
    EXPECT_FALSE(artifact);
    return artifact ? Error{} : artifact.error();
  }

  /// An artifact's image as a file, for a tool.
  std::string file_of(const Artifact& artifact, const std::string& name) {
    write_file(scratch_ / name, artifact.image);
    return (scratch_ / name).string();
  }
};

inline bool is_mapped(const std::string& library) {
  return read_file("/proc/self/maps").find(library) != std::string::npos;
}

/// Does it in a child, so that this process maps none of the libraries that it takes; here, where this
/// process has mapped them already and must not be forked. Whether it was in a child.
inline bool in_fresh_process(const std::function<bool()>& work) {
  const bool fresh = !is_mapped("libnvrtc") && !is_mapped("libnvJitLink");
  if (fresh) {
    EXPECT_EQ(run_in_child([&] { return work() ? 0 : 1; }), 0);
  } else {
    EXPECT_TRUE(work());
  }
  return fresh;
}

}  // namespace kiln::test
