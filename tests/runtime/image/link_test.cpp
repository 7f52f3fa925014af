// Links through the real nvJitLink: what comes out, what is kept of it, and what is refused.

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "another_build.h"
#include "images_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;

class Link : public ImagesFixture {};

/// Of each image kind that can be linked.
class LinkOfKind : public ImagesFixture, public testing::WithParamInterface<ImageKind> {};

TEST_P(LinkOfKind, AKernelCallsAFunctionOfAnotherProgram) {
  const auto artifact = linked(link_of(both(GetParam())));
  EXPECT_EQ(artifact.origin, Origin::compiled);
  EXPECT_EQ(artifact.program, "engine.link");
  EXPECT_EQ(artifact.kind, "cubin");
  EXPECT_EQ(artifact.arch, "sm_90");
  EXPECT_THAT(artifact.toolchain, HasSubstr("nvJitLink 1"));
  ASSERT_EQ(artifact.kernels.size(), 2U);
  const auto* scale = artifact.find("scale<float>");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->symbol, "_Z5scaleIfEvPT_i");
  EXPECT_GT(scale->registers, 0U);
  EXPECT_EQ(scale->params, (std::vector<Parameter>{{0, 8}, {8, 4}}));
  ASSERT_NE(artifact.find("plain"), nullptr);
  EXPECT_EQ(artifact.find("plain")->params, (std::vector<Parameter>{{0, 8}}));
}

TEST_P(LinkOfKind, IsKeptAndServedWithoutTheLinker) {
  const bool fresh =
      in_fresh_process([&] { return !linked(link_of(both(GetParam()))).image.empty(); });
  const auto artifact = linked(link_of(both(GetParam())));
  EXPECT_EQ(artifact.origin, Origin::local);
  EXPECT_NE(artifact.find("scale<float>"), nullptr);
  EXPECT_FALSE(artifact.image.empty());
  if (fresh) {
    EXPECT_FALSE(is_mapped("libnvJitLink"));
    EXPECT_FALSE(is_mapped("libnvrtc"));
  }
}

TEST_P(LinkOfKind, GivesTheSameBytesAgain) {
  const auto first = linked(link_of(both(GetParam())));
  std::filesystem::remove_all(cache_directory());
  const auto second = linked(link_of(both(GetParam())));
  EXPECT_EQ(second.origin, Origin::compiled);
  EXPECT_EQ(first.image, second.image);
  EXPECT_EQ(first.key, second.key);
}

INSTANTIATE_TEST_SUITE_P(All, LinkOfKind,
                         testing::Values(ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

TEST_F(Link, StopsAtPtx) {
  const auto artifact = linked(link_of(both(ImageKind::ltoir), ImageKind::ptx, "compute_90"));
  EXPECT_EQ(artifact.kind, "ptx");
  ASSERT_NE(artifact.find("scale<float>"), nullptr);
  EXPECT_FALSE(artifact.find("scale<float>")->params_known);
  EXPECT_THAT(artifact.image, HasSubstr(".entry _Z5scaleIfEvPT_i"));
  EXPECT_EQ(linked(link_of(both(ImageKind::ltoir), ImageKind::ptx, "compute_90")).origin,
            Origin::local);
  KILN_NEEDS_TOOL(ptxas, "ptxas");
  const auto outcome =
      run_tool(ptxas->string() + " -arch sm_90 " + file_of(artifact, "l.ptx") + " -o /dev/null");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(Link, MixesLtoirAndCubins) {
  const auto artifact = linked(
      link_of({image(caller(), ImageKind::ltoir), image(callee("-rdc=true"), ImageKind::cubin)}));
  EXPECT_NE(artifact.find("plain"), nullptr);
}

TEST_F(Link, ProgramsWithoutExpressionsBringTheirKernelsUnderTheirSymbols) {
  auto spec = caller();
  spec.kernels.clear();
  spec.source += "\ntemplate __global__ void scale<float>(float*, int);";
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx}) {
    const auto artifact =
        linked(link_of({image(spec, ImageKind::ltoir), image(callee(), ImageKind::ltoir)}, kind));
    ASSERT_EQ(artifact.kernels.size(), 2U) << to_string(kind);
    EXPECT_NE(artifact.find("_Z5scaleIfEvPT_i"), nullptr);
    EXPECT_NE(artifact.find("plain"), nullptr);
  }
}

TEST_F(Link, ListsTheKernelsThatAreAskedFor) {
  auto spec = link_of(both(ImageKind::cubin));
  spec.kernels = {"scale<float>"};
  const auto artifact = linked(spec);
  ASSERT_EQ(artifact.kernels.size(), 1U);
  EXPECT_EQ(artifact.kernels[0].symbol, "_Z5scaleIfEvPT_i");
  EXPECT_TRUE(artifact.kernels[0].params_known);
  spec.kernels = {"_Z5scaleIfEvPT_i"};
  EXPECT_EQ(linked(spec).kernels.at(0).expression, "_Z5scaleIfEvPT_i");
}

TEST_F(Link, WhatChangesTheResultIsInTheKey) {
  const auto inputs = both(ImageKind::cubin);
  const auto base = link_of(inputs);
  ASSERT_EQ(linked(base).origin, Origin::compiled);
  ASSERT_EQ(linked(base).origin, Origin::local);
  std::vector<LinkSpec> others(6, base);
  others[0].name = "other.link";
  others[1].options = {"-verbose"};
  others[2].kernels = {"plain"};
  std::swap(others[3].inputs[0], others[3].inputs[1]);
  others[4].inputs[1] = image(callee("-rdc=true", "3"), ImageKind::cubin);
  others[5].inputs[0].kernels[0].expression = "another_name";
  for (std::size_t index = 0; index < others.size(); ++index) {
    EXPECT_EQ(linked(others[index]).origin, Origin::compiled) << index;
    EXPECT_EQ(linked(others[index]).origin, Origin::local) << index;
  }
  EXPECT_EQ(linked(link_of(both(ImageKind::ltoir), ImageKind::cubin, "sm_90a")).origin,
            Origin::compiled);
  EXPECT_EQ(linked(link_of(both(ImageKind::ltoir))).origin, Origin::compiled);
  EXPECT_EQ(linked(base).origin, Origin::local);
}

TEST_F(Link, WarningsAndRemarksAreKept) {
  auto spec = link_of(both(ImageKind::ltoir));
  spec.options = {"-verbose"};
  const auto fresh = linked(spec);
  EXPECT_THAT(fresh.log, HasSubstr("registers"));
  EXPECT_EQ(linked(spec).log, fresh.log);
}

TEST_F(Link, ThreadsThatAskTogetherShareOneLink) {
  const auto spec = link_of(both(ImageKind::ltoir));
  auto runtime = Runtime::open(options()).value();
  std::vector<std::thread> threads;
  for (int index = 0; index < 8; ++index) {
    threads.emplace_back([&] { EXPECT_TRUE(runtime.link(spec)); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(runtime.counters().combines, 1U);
  EXPECT_EQ(runtime.counters().compiles, 0U);
  EXPECT_EQ(runtime.link(spec).value().origin, Origin::memory);
}

TEST_F(Link, AMachineWithoutTheLinkerIsServedWhatIsKept) {
  const auto inputs = both(ImageKind::cubin);
  ASSERT_EQ(linked(link_of(inputs)).origin, Origin::compiled);
  const auto none = (scratch_ / "libnvJitLink.so.13").string();
  const ScopedVariable missing("KILN_NVJITLINK", none);
  EXPECT_EQ(linked(link_of(inputs)).origin, Origin::local);
  auto other = link_of(inputs);
  other.name = "other.link";
  const auto error = link_error(other);
  EXPECT_EQ(error.code, ErrorCode::compiler_missing);
  EXPECT_THAT(error.message, HasSubstr(none + " (KILN_NVJITLINK): no such file"));
  EXPECT_THAT(error.message, HasSubstr("nvidia-nvjitlink"));
}

TEST_F(Link, AnotherBuildOfTheLinkerMisses) {
  const auto inputs = both(ImageKind::cubin);
  ASSERT_EQ(linked(link_of(inputs)).origin, Origin::compiled);
  const auto original = Runtime::open(options()).value().linker().path;
  const auto copy = scratch_ / "another_linker.so";
  std::filesystem::copy_file(original, copy);
  turn_into_another_build(copy);

  const ScopedVariable exact("KILN_NVJITLINK", copy.string());
  EXPECT_EQ(linked(link_of(inputs)).origin, Origin::compiled);
  EXPECT_EQ(misses_.back(), "it was made by another build of the tool");
  EXPECT_EQ(linked(link_of(inputs)).origin, Origin::local);
}

TEST_F(Link, TheEntryIsSoundShippedAndTellsItsRecipe) {
  const auto inputs = both(ImageKind::cubin);
  const auto fresh = linked(link_of(inputs));
  {
    auto cache = Cache::open(cache_directory()).value();
    const auto entry = cache.entry(fresh.key).value();
    EXPECT_TRUE(made_of_images(entry.request));
    EXPECT_FALSE(made_of_images(cache.entry(inputs[0].key).value().request));
    const auto recipe = cache.text(entry.request.source).value();
    EXPECT_THAT(recipe, HasSubstr("cubin sm_90 " + digest_of(inputs[0].image).hex()));
    EXPECT_THAT(recipe, HasSubstr("  _Z5scaleIfEvPT_i scale<float>\n"));
    const auto report = cache.verify(true).value();
    EXPECT_TRUE(report.findings.empty()) << report.findings.front().problem;
    ASSERT_TRUE(cache.export_bundle(scratch_ / "engine.kiln"));
  }
  std::filesystem::remove_all(cache_directory());
  auto shipped = options();
  shipped.bundles = {{scratch_ / "engine.kiln"}};
  const auto served = Runtime::open(std::move(shipped)).value().link(link_of(inputs)).value();
  EXPECT_EQ(served.origin, Origin::bundle);
  EXPECT_EQ(served.image, fresh.image);
}

TEST_F(Link, IsServedButNotMadeWhereCompilingIsForbidden) {
  const auto inputs = both(ImageKind::cubin);
  const auto kept = linked(link_of(inputs));
  auto set_up = options();
  set_up.mode = Mode::cache_only;
  auto runtime = Runtime::open(std::move(set_up)).value();
  EXPECT_EQ(runtime.link(link_of(inputs)).value().key, kept.key);
  auto other = link_of(inputs);
  other.name = "other.link";
  const auto refused = runtime.link(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_cached);
  EXPECT_THAT(refused.error().message, HasSubstr("other.link for sm_90 (request "));
  EXPECT_EQ(runtime.counters().combines, 0U);
  runtime.set_mode(Mode::jit);
  EXPECT_EQ(runtime.link(other).value().origin, Origin::compiled);
}

TEST_F(Link, WarnSaysWhatIsMadeAndWhy) {
  const auto inputs = both(ImageKind::cubin);
  std::vector<std::string> warnings;
  auto set_up = options();
  set_up.mode = Mode::warn;
  set_up.log = [&](LogLevel, std::string_view line) { warnings.emplace_back(line); };
  ASSERT_TRUE(Runtime::open(std::move(set_up)).value().link(link_of(inputs)));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("making engine.link for sm_90"));
  EXPECT_THAT(warnings[0], HasSubstr("nothing is stored for this request"));
}

TEST_F(Link, IsNoneOfTheProgramsOfACache) {
  linked(link_of(both(ImageKind::cubin)));
  auto cache = Cache::open(cache_directory()).value();
  const auto recorded = recorded_programs(cache).value();
  EXPECT_TRUE(recorded.failures.empty());
  std::vector<std::string> names;
  for (const auto& listed : recorded.programs) names.push_back(listed.spec.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("caller.cu", "callee.cu"));
}

TEST_F(Link, NoProgramMayHaveTheOptionThatMarksARecipe) {
  EXPECT_FALSE(Program::make({.name = "a.cu", .source = "", .options = {"--kiln-link"}}));
}

TEST_F(Link, TheToolkitsOwnToolsReadWhatWasMade) {
  const auto artifact = linked(link_of(both(ImageKind::cubin)));
  const auto file = file_of(artifact, "linked.cubin");
  KILN_NEEDS_TOOL(readelf, "readelf");
  const auto read = run_tool(readelf->string() + " -hWs " + file);
  EXPECT_THAT(read.output, HasSubstr("EXEC (Executable file)"));
  EXPECT_THAT(read.output, HasSubstr("NVIDIA CUDA architecture"));
  EXPECT_THAT(read.output, HasSubstr("_Z5scaleIfEvPT_i"));
}

TEST_F(Link, TheToolkitsLinkerTakesWhatWasCompiled) {
  const auto inputs = both(ImageKind::cubin);
  KILN_NEEDS_TOOL(nvlink, "nvlink");
  const auto outcome =
      run_tool(nvlink->string() + " -arch sm_90 " + file_of(inputs[0], "a.cubin") + ' ' +
               file_of(inputs[1], "b.cubin") + " -o " + (scratch_ / "o.cubin").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(read_file(scratch_ / "o.cubin"), HasSubstr("_Z5scaleIfEvPT_i"));
}

TEST_F(Link, TheToolkitsLinkerTakesLtoir) {
  const auto inputs = both(ImageKind::ltoir);
  KILN_NEEDS_TOOL(nvlink, "nvlink");
  const auto folder =
      Runtime::open(options()).value().compiler().path.parent_path().lexically_normal();
  std::filesystem::path nvvm;
  for (const auto& place : {folder / "libnvvm.so.4", folder / "../nvvm/lib64/libnvvm.so"}) {
    if (std::filesystem::exists(place)) nvvm = place;
  }
  if (nvvm.empty()) GTEST_SKIP() << "there is no libnvvm for nvlink on this machine";
  std::filesystem::create_directories(scratch_ / "nvvm/lib64");
  std::filesystem::create_symlink(nvvm, scratch_ / "nvvm/lib64/libnvvm.so");
  const auto outcome =
      run_tool(nvlink->string() + " -arch sm_90 -lto --nvvmpath=" + (scratch_ / "nvvm").string() +
               ' ' + file_of(inputs[0], "a.ltoir") + ' ' + file_of(inputs[1], "b.ltoir") + " -o " +
               (scratch_ / "o.cubin").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(read_file(scratch_ / "o.cubin"), HasSubstr("_Z5scaleIfEvPT_i"));
}

TEST_F(Link, ThePtxOfACompileIsTakenByTheAssembler) {
  const auto artifact = image(callee(), ImageKind::ptx, "compute_80");
  KILN_NEEDS_TOOL(ptxas, "ptxas");
  const auto outcome =
      run_tool(ptxas->string() + " -arch sm_80 -c " + file_of(artifact, "b.ptx") + " -o /dev/null");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// What is refused. nvJitLink calls most of these a success, or crashes.

class BadLink : public ImagesFixture {};

TEST_F(BadLink, AFunctionThatNobodyDefines) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ltoir}) {
    const auto error = link_error(link_of({both(kind)[0]}));
    EXPECT_EQ(error.code, ErrorCode::link_failed);
    EXPECT_THAT(error.message, HasSubstr("engine.link for sm_90: nvJitLink 1"));
    EXPECT_THAT(error.log, HasSubstr("_Z5twicef"));
  }
}

TEST_F(BadLink, AFunctionThatTwoDefine) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir}) {
    auto inputs = both(kind);
    const std::string option = kind == ImageKind::ltoir ? "" : "-rdc=true";
    auto again = callee(option, "3");
    again.name = "again.cu";
    inputs.push_back(image(again, kind));
    const auto error = link_error(link_of(inputs));
    EXPECT_EQ(error.code, ErrorCode::link_failed) << to_string(kind);
    EXPECT_THAT(error.message + error.log, HasSubstr("_Z5twicef")) << to_string(kind);
    EXPECT_THAT(error.message + error.log, HasSubstr("again.cu")) << to_string(kind);
  }
}

TEST_F(BadLink, ACubinThatIsNotRelocatable) {
  const auto error = link_error(link_of({image(callee(), ImageKind::cubin)}));
  EXPECT_EQ(error.code, ErrorCode::link_failed);
  EXPECT_THAT(error.message, HasSubstr("callee.cu"));
  EXPECT_THAT(error.message, HasSubstr("-rdc=true"));
}

TEST_F(BadLink, DamagedImages) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir}) {
    auto inputs = both(kind);
    inputs[0].image = inputs[0].image.string().substr(0, inputs[0].image.size() / 2);
    EXPECT_EQ(link_error(link_of(inputs)).code, ErrorCode::link_failed) << to_string(kind);
    inputs[0].image = "neither";
    const auto error = link_error(link_of(inputs));
    EXPECT_EQ(error.code, ErrorCode::link_failed) << to_string(kind);
    EXPECT_THAT(error.message + error.log, HasSubstr("caller.cu")) << to_string(kind);
  }
}

// nvJitLink follows the index, and dies.
TEST_F(BadLink, AnImageThatLeadsOutOfItself) {
  auto inputs = both(ImageKind::cubin);
  std::string damaged = inputs[0].image.string();
  const std::string_view registers("\x04\x2f\x08\x00", 4);
  damaged.at(damaged.find(registers) + registers.size() + 2) = '\x40';  // Of the symbol's index.
  inputs[0].image = damaged;
  const auto error = link_error(link_of(inputs));
  EXPECT_EQ(error.code, ErrorCode::link_failed);
  EXPECT_THAT(error.message, HasSubstr("caller.cu is no sound cubin"));
}

TEST_F(BadLink, AnImageOfAnotherArchitecture) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ltoir}) {
    const auto error = link_error(link_of(both(kind, "sm_90"), ImageKind::cubin, "sm_80"));
    EXPECT_EQ(error.code, ErrorCode::link_failed) << error.message;
    EXPECT_FALSE(error.log.empty());
  }
}

TEST_F(BadLink, AnArchitectureThatIsNone) {
  const auto error = link_error(link_of(both(ImageKind::ltoir), ImageKind::cubin, "sm_33"));
  EXPECT_EQ(error.code, ErrorCode::unknown_arch);
  EXPECT_THAT(error.log, HasSubstr("33"));
}

TEST_F(BadLink, ImagesThatALinkDoesNotGive) {
  for (const auto kind : {ImageKind::ltoir, ImageKind::optixir, ImageKind::fatbin}) {
    const auto error = link_error(link_of(both(ImageKind::ltoir), kind));
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, HasSubstr(to_string(kind)));
  }
  const auto error = link_error(link_of(both(ImageKind::cubin), ImageKind::ptx));
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("caller.cu is cubin"));
}

TEST_F(BadLink, ImagesThatTakeNoPartInLinks) {
  const auto error = link_error(link_of({image(callee(), ImageKind::optixir)}));
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("optixir"));
  EXPECT_EQ(link_error(link_of({})).code, ErrorCode::invalid_argument);
  EXPECT_EQ(link_error(link_of({Artifact{.program = "a", .kind = "cubin"}})).code,
            ErrorCode::invalid_argument);
}

TEST_F(BadLink, OptionsThatKilnOwns) {
  for (const auto* option :
       {"-arch=sm_80", "--arch=sm_80", "-ptx", "-no-cache", "-time", "lto", ""}) {
    auto spec = link_of(both(ImageKind::ltoir));
    spec.options = {option};
    EXPECT_EQ(link_error(spec).code, ErrorCode::invalid_option) << option;
  }
}

TEST_F(BadLink, OptionsThatTheLinkerDoesNotKnow) {
  auto spec = link_of(both(ImageKind::ltoir));
  spec.options = {"-bogus"};
  const auto error = link_error(spec);
  EXPECT_EQ(error.code, ErrorCode::invalid_option);
  EXPECT_THAT(error.message, HasSubstr("-bogus"));
}

TEST_F(BadLink, AnExpressionOfTwoKernels) {
  const auto spec = [](const std::string& name) {
    return ProgramSpec{.name = name,
                       .source = "namespace { __global__ void local(int* x) { *x = 1; } }",
                       .kernels = {"local"},
                       .options = {"-rdc=true"}};
  };
  auto link =
      link_of({image(spec("a.cu"), ImageKind::cubin), image(spec("b.cu"), ImageKind::cubin)});
  const auto error = link_error(link);
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("'local'"));
  link.kernels = {link.inputs[1].kernels.at(0).symbol};
  EXPECT_EQ(linked(link).kernels.at(0).symbol, link.kernels[0]);
}

TEST_F(BadLink, AKernelThatIsNotThere) {
  auto spec = link_of(both(ImageKind::cubin));
  spec.kernels = {"scale<double>"};
  const auto error = link_error(spec);
  EXPECT_EQ(error.code, ErrorCode::unknown_kernel);
  EXPECT_THAT(error.message, HasSubstr("'scale<double>'"));
}

TEST_F(BadLink, NothingIsKeptOfAFailure) {
  const auto inputs = both(ImageKind::cubin);
  const auto before = Cache::open(cache_directory()).value().statistics().value().entries;
  EXPECT_EQ(link_error(link_of({inputs[0]})).code, ErrorCode::link_failed);
  EXPECT_EQ(Cache::open(cache_directory()).value().statistics().value().entries, before);
}

}  // namespace
}  // namespace kiln::test
