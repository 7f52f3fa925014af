// Fatbins through the real nvFatbin: what is in them, what is kept of them, and what is refused.

#include <cstdint>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "images_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;

/// One member as the header before it describes it.
struct Member {
  ImageKind kind;
  std::uint32_t arch;
  std::string image;
};

template <class T>
T number_at(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// A header: magic u32, version u16, its own size u16, size of all members u64. Each member: kind u16 (1
// PTX, 2 ELF), version u16, size of its header u32, size u64, …, at 28 the architecture u32.
std::vector<Member> members_of(const std::string& fatbin) {
  std::vector<Member> members;
  EXPECT_EQ(number_at<std::uint32_t>(fatbin, 0), 0xba55ed50U);
  EXPECT_EQ(number_at<std::uint16_t>(fatbin, 4), 1U);
  std::size_t at = number_at<std::uint16_t>(fatbin, 6);
  EXPECT_EQ(at + number_at<std::uint64_t>(fatbin, 8), fatbin.size());
  while (at + 64 <= fatbin.size()) {
    const auto kind = number_at<std::uint16_t>(fatbin, at);
    const auto header = number_at<std::uint32_t>(fatbin, at + 4);
    const auto size = number_at<std::uint64_t>(fatbin, at + 8);
    members.push_back({kind == 2 ? ImageKind::cubin : ImageKind::ptx,
                       number_at<std::uint32_t>(fatbin, at + 28),
                       fatbin.substr(at + header, size)});
    at += header + size;
  }
  EXPECT_EQ(at, fatbin.size());
  return members;
}

class Fatbin : public ImagesFixture {
 protected:
  Fatbin() {
#ifdef KILN_TEST_NVFATBIN
    if (std::getenv("KILN_NVFATBIN") == nullptr)
      packer_.emplace("KILN_NVFATBIN", KILN_TEST_NVFATBIN);
#endif
  }

  // Where it can be, a child is asked: that one test sees none mapped is not to be the fault of this.
  void SetUp() override {
    const auto packer = [this] { return Runtime::open(options()).value().packer(); };
    const bool fresh = !is_mapped("libnvrtc") && !is_mapped("libnvJitLink");
    if (fresh && run_in_child([&] { return packer().available ? 0 : 1; }) == 0) return;
    if (const auto here = packer(); !here.available) GTEST_SKIP() << here.reason;
  }

  static ProgramSpec names() {
    return {.name = "names.cu",
            .source = "template <class T> __global__ void fill(T* x, int n) { x[n] = n; }",
            .kernels = {"fill<float>", "fill<double>"}};
  }

  static std::vector<Target> three() {
    return {Target::parse("sm_80").value(), Target::parse("sm_90a").value(),
            Target::parse("compute_90", ImageKind::ptx).value()};
  }

  Result<Artifact> try_fatbin(const ProgramSpec& spec, const std::vector<Target>& targets) {
    return Runtime::open(options()).value().fatbin(Program::make(spec).value(), targets);
  }

 private:
  std::optional<ScopedVariable> packer_;
};

TEST_F(Fatbin, HoldsAnImageForEachArchitecture) {
  const auto fatbin = try_fatbin(names(), three());
  ASSERT_TRUE(fatbin) << fatbin.error().message;
  EXPECT_EQ(fatbin->kind, "fatbin");
  EXPECT_EQ(fatbin->arch, "sm_80,compute_90,sm_90a");
  EXPECT_EQ(fatbin->origin, Origin::compiled);
  EXPECT_THAT(fatbin->toolchain, HasSubstr("nvFatbin 1"));
  const auto members = members_of(fatbin->image);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].arch, 80U);
  EXPECT_EQ(members[1].arch, 90U);
  EXPECT_EQ(members[2].arch, 90U);
  EXPECT_THAT(members[0].image,
              testing::StartsWith(image(names(), ImageKind::cubin, "sm_80").image));
  EXPECT_EQ(members[1].kind, ImageKind::ptx);
  // nvFatbin leaves out comments and blanks.
  EXPECT_THAT(members[1].image, HasSubstr(".target sm_90\n"));
  EXPECT_THAT(members[1].image, HasSubstr(".entry _Z4fillIfEvPT_i("));
  EXPECT_THAT(members[2].image,
              testing::StartsWith(image(names(), ImageKind::cubin, "sm_90a").image));
}

TEST_F(Fatbin, TellsItsKernels) {
  const auto fatbin = try_fatbin(names(), three()).value();
  ASSERT_EQ(fatbin.kernels.size(), 2U);
  const auto* fill = fatbin.find("fill<float>");
  ASSERT_NE(fill, nullptr);
  EXPECT_EQ(fill->symbol, "_Z4fillIfEvPT_i");
  EXPECT_EQ(fill->params, (std::vector<Parameter>{{0, 8}, {8, 4}}));
  std::uint32_t most = 0;
  for (const auto* arch : {"sm_80", "sm_90a"}) {
    most = std::max(most, image(names(), ImageKind::cubin, arch).find("fill<float>")->registers);
  }
  EXPECT_EQ(fill->registers, most);
}

TEST_F(Fatbin, HoldsForEachArchitectureItsOwnVariant) {
  auto spec = names();
  auto hopper = spec;
  hopper.source = "template <class T> __global__ void fill(T* x, int n) { x[n] = n + 1; }";
  spec.variants = {{.name = "hopper", .since = "sm_90a", .source = hopper.source}};
  const auto members = members_of(try_fatbin(spec, three()).value().image);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_THAT(members[0].image,
              testing::StartsWith(image(names(), ImageKind::cubin, "sm_80").image));
  EXPECT_THAT(members[2].image,
              testing::StartsWith(image(hopper, ImageKind::cubin, "sm_90a").image));
}

// A check against the other variant's would refuse what is right.
TEST_F(Fatbin, ParametersThatDifferByArchitectureAreForTheDriverToTell) {
  const ProgramSpec spec{
      .name = "fill.cu",
      .source =
          "extern \"C\" __global__ void fill(int* x) { *x = 1; }\n"
          "extern \"C\" __global__ void same(int* x) { *x = 2; }",
      .kernels = {"fill", "same"},
      .variants = {{.name = "hopper",
                    .since = "sm_90a",
                    .source = "extern \"C\" __global__ void fill(int* x, int y) { *x = y; }\n"
                              "extern \"C\" __global__ void same(int* x) { *x = 3; }"}}};
  const auto fatbin =
      try_fatbin(spec, {Target::parse("sm_80").value(), Target::parse("sm_90a").value()}).value();
  EXPECT_FALSE(fatbin.find("fill")->params_known);
  EXPECT_TRUE(fatbin.find("fill")->params.empty());
  EXPECT_TRUE(fatbin.find("same")->params_known);
}

TEST_F(Fatbin, IsKeptAndServedWithoutNvFatbin) {
  const bool fresh = in_fresh_process([&] { return try_fatbin(names(), three()).has_value(); });
  auto runtime = Runtime::open(options()).value();
  auto turned = three();
  std::swap(turned[0], turned[2]);
  const auto fatbin = runtime.fatbin(Program::make(names()).value(), turned).value();
  EXPECT_EQ(fatbin.origin, Origin::local) << "the order of the targets makes no difference";
  EXPECT_EQ(runtime.counters().compiles, 0U);
  EXPECT_EQ(runtime.counters().combines, 0U);
  EXPECT_EQ(runtime.counters().local_hits, 4U) << "three images and the fatbin";
  if (fresh) {
    EXPECT_FALSE(is_mapped("libnvfatbin"));
    EXPECT_FALSE(is_mapped("libnvrtc"));
  }
}

TEST_F(Fatbin, IsWhatCompileGivesForATargetOfThisKind) {
  const auto compiled = image(names(), ImageKind::fatbin, "sm_90");
  EXPECT_EQ(compiled.kind, "fatbin");
  const auto members = members_of(compiled.image);
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0].kind, ImageKind::cubin);
  EXPECT_EQ(try_fatbin(names(), {Target::parse("sm_90").value()}).value().origin, Origin::local);
  const auto text = image(names(), ImageKind::fatbin, "compute_90");
  EXPECT_EQ(members_of(text.image).at(0).kind, ImageKind::ptx);
}

TEST_F(Fatbin, ChangesWithItsImages) {
  const auto first = try_fatbin(names(), three()).value();
  auto other = names();
  other.source += "\n__device__ int more;";
  const auto second = try_fatbin(other, three()).value();
  EXPECT_EQ(second.origin, Origin::compiled);
  EXPECT_NE(first.key, second.key);
  EXPECT_EQ(try_fatbin(names(), {three()[0]}).value().origin, Origin::compiled);
  EXPECT_EQ(try_fatbin(names(), three()).value().key, first.key);
}

TEST_F(Fatbin, IsMadeByTheQueueAndByAPrefetch) {
  const auto program = Program::make(names()).value();
  const auto target = Target::parse("sm_90", ImageKind::fatbin).value();
  {
    auto runtime = Runtime::open(options()).value();
    const auto queued = runtime.compile_async(program, target).get();
    ASSERT_TRUE(queued) << queued.error().message;
    EXPECT_EQ(queued->origin, Origin::compiled);
    EXPECT_EQ(queued->kind, "fatbin");
  }
  auto runtime = Runtime::open(options()).value();
  const auto report = runtime.prefetch(
      {{program, target}, {program, Target::parse("sm_80", target.kind()).value()}});
  EXPECT_TRUE(report.failures.empty());
  EXPECT_EQ(report.hits, 1U);
  EXPECT_EQ(report.compiled, 1U);
}

TEST_F(Fatbin, IsServedButNotMadeWhereCompilingIsForbidden) {
  const auto program = Program::make(names()).value();
  try_fatbin(names(), three()).value();
  auto set_up = options();
  set_up.mode = Mode::cache_only;
  auto runtime = Runtime::open(std::move(set_up)).value();
  EXPECT_EQ(runtime.fatbin(program, three()).value().origin, Origin::local);
  const auto refused = runtime.fatbin(program, {three()[0]});
  ASSERT_FALSE(refused) << "its image is stored, but no fatbin of it alone";
  EXPECT_EQ(refused.error().code, ErrorCode::not_cached);
  EXPECT_THAT(refused.error().message, HasSubstr("names.cu for sm_80, fatbin (request "));
  EXPECT_EQ(runtime.counters().combines, 0U);
}

TEST_F(Fatbin, IsNotTheEntryNearestToAProgram) {
  try_fatbin(names(), three()).value();
  auto other = names();
  other.options = {"-DMORE=1"};
  auto runtime = Runtime::open(options()).value();
  const auto program = Program::make(other).value();
  const auto explanation = runtime.explain(program, three()[0]).value();
  ASSERT_TRUE(explanation.nearest);
  EXPECT_EQ(explanation.nearest->kind, "cubin");
  const auto of_fatbin =
      runtime.explain(program, Target::parse("sm_80", ImageKind::fatbin).value());
  ASSERT_FALSE(of_fatbin);
  EXPECT_EQ(of_fatbin.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(of_fatbin.error().message, HasSubstr("names.cu for sm_80"));
}

TEST_F(Fatbin, TheEntryIsSound) {
  const auto fatbin = try_fatbin(names(), three()).value();
  auto cache = Cache::open(cache_directory()).value();
  EXPECT_TRUE(made_of_images(cache.entry(fatbin.key).value().request));
  const auto report = cache.verify(true).value();
  EXPECT_TRUE(report.findings.empty()) << report.findings.front().problem;
}

TEST_F(Fatbin, TheToolkitsLinkerReadsIt) {
  const auto targets = std::vector{Target::parse("sm_80").value(), Target::parse("sm_90").value()};
  const auto fatbin = try_fatbin(caller("-rdc=true"), targets).value();
  const auto other = image(callee("-rdc=true"), ImageKind::cubin, "sm_90");
  KILN_NEEDS_TOOL(nvlink, "nvlink");
  const auto outcome =
      run_tool(nvlink->string() + " -arch sm_90 " + file_of(fatbin, "a.fatbin") + ' ' +
               file_of(other, "b.cubin") + " -o " + (scratch_ / "o.cubin").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(read_file(scratch_ / "o.cubin"), HasSubstr("_Z5scaleIfEvPT_i"));
}

/// Needs no nvFatbin.
class BadFatbin : public Fatbin {
 protected:
  void SetUp() override {}

  Error fatbin_error(const ProgramSpec& spec, const std::vector<Target>& targets) {
    const auto fatbin = try_fatbin(spec, targets);
    EXPECT_FALSE(fatbin);
    return fatbin ? Error{} : fatbin.error();
  }
};

TEST_F(BadFatbin, ImagesThatNoDriverTakes) {
  for (const auto kind : {ImageKind::ltoir, ImageKind::optixir}) {
    const auto error = fatbin_error(names(), {Target::parse("sm_90", kind).value()});
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, HasSubstr(to_string(kind)));
  }
  EXPECT_EQ(fatbin_error(names(), {}).code, ErrorCode::invalid_argument);
}

TEST_F(BadFatbin, AKernelThatHasNoOneName) {
  const auto error =
      fatbin_error({.name = "local.cu",
                    .source = "namespace { __global__ void local(int* x) { *x = 1; } }",
                    .kernels = {"local"}},
                   {Target::parse("sm_80").value(), Target::parse("sm_90").value()});
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("'local'"));
  EXPECT_THAT(error.message, HasSubstr("anonymous namespace"));
}

TEST_F(BadFatbin, WhatDoesNotCompile) {
  const auto error = fatbin_error({.name = "bad.cu", .source = "nonsense"}, three());
  EXPECT_EQ(error.code, ErrorCode::compile_failed);
}

TEST_F(BadFatbin, AMachineWithoutNvFatbin) {
  const auto none = (scratch_ / "libnvfatbin.so.13").string();
  const ScopedVariable missing("KILN_NVFATBIN", none);
  const auto error = fatbin_error(names(), three());
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message, HasSubstr("nvidia-nvfatbin"));
}

}  // namespace
}  // namespace kiln::test
