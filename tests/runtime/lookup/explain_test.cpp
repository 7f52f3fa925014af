// A row for each kind of difference in the key table: what explain says of it, and that it only looks.

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"
#include "support/child.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Field = Difference::Field;

constexpr const char* plain_source =
    "#ifndef A\n#define A 1\n#endif\n"
    "template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= T(A); }\n";

class Explain : public CompileFixture {
 protected:
  static ProgramSpec plain() {
    return {.name = "plain.cu",
            .source = plain_source,
            .kernels = {"scale<float>"},
            .options = {"--std=c++17", "-DA=2"}};
  }

  // Includes `lib/attn.cuh`, which includes `lib/vec.cuh` beside it.
  ProgramSpec including() const {
    return {.name = "inc.cu",
            .source = "#include <lib/attn.cuh>\n__global__ void k(int* x) { *x = vec(); }",
            .include_dirs = {scratch_ / "include"},
            .kernels = {"k"}};
  }

  void write_headers() const {
    write_file(scratch_ / "include/lib/attn.cuh", "#pragma once\n#include \"vec.cuh\"\n");
    write_file(scratch_ / "include/lib/vec.cuh", vec_text);
  }
  static constexpr const char* vec_text = "__device__ inline int vec() { return 1; }\n";
  static constexpr const char* vec_changed = "__device__ inline int vec() { return 2; }\n";

  Explanation explain(const ProgramSpec& spec, const std::string& arch = "sm_80",
                      ImageKind kind = ImageKind::cubin) {
    auto runtime = Runtime::open(options()).value();
    return runtime.explain(Program::make(spec).value(), Target::parse(arch, kind).value()).value();
  }

  // The one difference from the nearest entry, which has this key if one is given.
  Difference only_difference(const Explanation& explanation) {
    EXPECT_FALSE(explanation.hit);
    EXPECT_TRUE(explanation.nearest) << explanation.summary();
    if (!explanation.nearest) return {Field::entry, "none"};
    EXPECT_EQ(explanation.nearest->differences.size(), 1U) << explanation.summary();
    return explanation.nearest->differences.at(0);
  }

  std::vector<std::string> texts(const Explanation& explanation) {
    std::vector<std::string> all;
    EXPECT_TRUE(explanation.nearest) << explanation.summary();
    if (!explanation.nearest) return all;
    for (const auto& difference : explanation.nearest->differences) all.push_back(difference.text);
    return all;
  }

  // Names, contents and times of the cache's files.
  [[nodiscard]] std::map<std::string, std::string> snapshot() const {
    std::map<std::string, std::string> files;
    for (const auto& file : fs::directory_iterator(cache_directory())) {
      struct stat status {};
      EXPECT_EQ(::stat(file.path().c_str(), &status), 0);
      files[file.path().filename()] = std::to_string(status.st_mtim.tv_sec) + '.' +
                                      std::to_string(status.st_mtim.tv_nsec) + ' ' +
                                      read_file(file.path());
    }
    return files;
  }
};

TEST_F(Explain, AHitFromTheCache) {
  const auto made = try_compile(plain()).value();
  const auto explanation = explain(plain());
  EXPECT_TRUE(explanation.hit);
  EXPECT_EQ(explanation.origin, Origin::local);
  EXPECT_EQ(explanation.key, made.key);
  EXPECT_EQ(explanation.reason, "");
  EXPECT_FALSE(explanation.nearest);
  EXPECT_EQ(explanation.program, "plain.cu");
  EXPECT_EQ(explanation.arch, "sm_80");
}

TEST_F(Explain, AHitFromMemory) {
  auto runtime = Runtime::open(options()).value();
  const auto target = Target::parse("sm_80").value();
  const auto program = Program::make(plain()).value();
  ASSERT_TRUE(runtime.compile(program, target));
  EXPECT_EQ(runtime.explain(program, target)->origin, Origin::memory);
  const auto again = Program::make(plain()).value();
  EXPECT_EQ(runtime.explain(again, target)->origin, Origin::memory);
}

TEST_F(Explain, TheVariantThatIsForTheTarget) {
  auto spec = plain();
  spec.variants = {{.name = "hopper", .since = "sm_90a", .options = {{"--std=c++17", "-DA=4"}}}};
  ASSERT_TRUE(try_compile(spec));
  const auto own = explain(spec, "sm_80");
  EXPECT_EQ(own.variant, "default");
  EXPECT_TRUE(own.hit);
  const auto hopper = explain(spec, "sm_90a");
  EXPECT_EQ(hopper.variant, "hopper");
  EXPECT_FALSE(hopper.hit);
  EXPECT_THAT(texts(hopper), testing::Contains(HasSubstr("-DA=4"))) << hopper.summary();
  EXPECT_EQ(explain(plain(), "sm_80").variant, "") << "which has none";
}

TEST_F(Explain, AHitFromABundleAndADifferenceFromOne) {
  const auto made = try_compile(plain()).value();
  const auto bundle = scratch_ / "plain.kiln";
  ASSERT_TRUE(Cache::open(cache_directory()).value().export_bundle(bundle));
  fs::remove_all(cache_directory());
  auto with_bundle = options();
  with_bundle.bundles = {bundle};
  auto runtime = Runtime::open(with_bundle).value();
  const auto program = Program::make(plain()).value();
  const auto hit = runtime.explain(program, Target::parse("sm_80").value()).value();
  EXPECT_TRUE(hit.hit);
  EXPECT_EQ(hit.origin, Origin::bundle);
  const auto miss = runtime.explain(program, Target::parse("sm_90").value()).value();
  EXPECT_EQ(only_difference(miss).text, "architecture: sm_90, stored sm_80");
  EXPECT_EQ(miss.nearest->origin, Origin::bundle);
  EXPECT_EQ(miss.nearest->file, bundle.string());
  EXPECT_EQ(miss.nearest->key, made.key);
}

TEST_F(Explain, StandardHeaders) {
  ASSERT_TRUE(try_compile(plain()));
  auto spec = plain();
  spec.headers = {standard_headers()};
  EXPECT_EQ(only_difference(explain(spec)).text, "standard headers: offered, stored not offered");
}

TEST_F(Explain, NothingIsStored) {
  const auto explanation = explain(plain());
  EXPECT_FALSE(explanation.hit);
  EXPECT_EQ(explanation.reason, "nothing is stored for this request");
  EXPECT_FALSE(explanation.nearest);
  EXPECT_EQ(explanation.not_stored, "");
}

TEST_F(Explain, AProgramOfAnotherNameAndSourceIsNotNear) {
  origin_of(plain());
  auto other = plain();
  other.name = "other.cu";
  other.source += "// other\n";
  EXPECT_FALSE(explain(other).nearest);
}

TEST_F(Explain, TheSource) {
  const auto made = try_compile(plain()).value();
  auto changed = plain();
  changed.source.replace(changed.source.find("*= T(A)"), 7, "+= T(A)");
  const auto explanation = explain(changed);
  const auto difference = only_difference(explanation);
  EXPECT_EQ(difference.field, Field::source);
  EXPECT_EQ(difference.text,
            "source: line 4 is 'template <class T> __global__ void scale(T* x) { x[threadIdx.x] += "
            "T(A); }', stored 'template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= "
            "T(A); }'");
  EXPECT_EQ(explanation.nearest->key, made.key);
}

TEST_F(Explain, TheSourceWhereTheStoredOneWasLeftOut) {
  origin_of(plain());
  const auto bundle = scratch_ / "plain.kiln";
  ASSERT_TRUE(Cache::open(cache_directory())
                  .value()
                  .export_bundle(bundle, {.without_sources = true, .also = {}}));
  fs::remove_all(cache_directory());
  const ScopedVariable variable("KILN_BUNDLES", bundle.string());
  auto changed = plain();
  changed.source += " ";
  const auto size = changed.source.size();
  EXPECT_THAT(only_difference(explain(changed)).text,
              testing::AllOf(StartsWith("source: " + std::to_string(size) + " bytes with digest "),
                             HasSubstr("stored " + std::to_string(size - 1) + " bytes")));
}

TEST_F(Explain, TheProgramsName) {
  origin_of(plain());
  auto renamed = plain();
  renamed.name = "renamed.cu";
  const auto difference = only_difference(explain(renamed));
  EXPECT_EQ(difference.field, Field::program);
  EXPECT_EQ(difference.text, "program name: renamed.cu, stored plain.cu");
}

TEST_F(Explain, AnOption) {
  origin_of(plain());
  auto changed = plain();
  changed.options[1] = "-DA=64";
  const auto difference = only_difference(explain(changed));
  EXPECT_EQ(difference.field, Field::option);
  EXPECT_EQ(difference.text, "option 2: -DA=64, stored 2");
  changed.options[1] = "-lineinfo";
  EXPECT_EQ(only_difference(explain(changed)).text, "option 2: -lineinfo, stored -DA=2");
  changed.options = plain().options;
  changed.options.emplace_back("-lineinfo");
  EXPECT_EQ(only_difference(explain(changed)).text, "option 3: -lineinfo, not stored");
  changed.options = {"--std=c++17"};
  EXPECT_EQ(only_difference(explain(changed)).text, "option 2 as stored: -DA=2, not asked for");
  changed.options = {"-DA=3", "--use_fast_math", "--std=c++20"};
  EXPECT_THAT(texts(explain(changed)),
              ElementsAre("option 1: -DA=3, stored 2", "option 3: --std=c++20, stored c++17",
                          "option 2: --use_fast_math, not stored"));
}

TEST_F(Explain, TheOrderOfOptions) {
  origin_of(plain());
  auto changed = plain();
  std::swap(changed.options[0], changed.options[1]);
  EXPECT_EQ(only_difference(explain(changed)).text,
            "options: in the order -DA=2 --std=c++17, stored --std=c++17 -DA=2");
}

TEST_F(Explain, ANameExpression) {
  origin_of(plain());
  auto changed = plain();
  changed.kernels = {"scale<double>"};
  const auto explanation = explain(changed);
  EXPECT_THAT(texts(explanation),
              ElementsAre("name expression scale<double>: asked for, not stored",
                          "name expression scale<float>: stored, not asked for"));
  EXPECT_EQ(explanation.nearest->differences[0].field, Field::expression);
}

TEST_F(Explain, TheArchitecture) {
  origin_of(plain(), "sm_90");
  const auto difference = only_difference(explain(plain(), "sm_90a"));
  EXPECT_EQ(difference.field, Field::arch);
  EXPECT_EQ(difference.text, "architecture: sm_90a, stored sm_90");
}

TEST_F(Explain, TheImageKind) {
  origin_of(plain());
  const auto difference = only_difference(explain(plain(), "sm_80", ImageKind::ptx));
  EXPECT_EQ(difference.field, Field::image);
  EXPECT_EQ(difference.text, "image kind: ptx, stored cubin");
}

TEST_F(Explain, AnotherBuildOfTheCompiler) {
  origin_of(plain());
  const ScopedVariable variable("NVRTC_SOMETHING", "1");
  const auto explanation = explain(plain());
  EXPECT_THAT(explanation.reason, StartsWith("it was made by another compiler, NVRTC "));
  const auto difference = only_difference(explanation);
  EXPECT_EQ(difference.field, Field::toolchain);
  EXPECT_THAT(difference.text, StartsWith("toolchain: NVRTC "));
  EXPECT_THAT(difference.text, HasSubstr("another build"));
}

TEST_F(Explain, AHeaderOnDiskReachedThroughAnother) {
  write_headers();
  const auto made = try_compile(including()).value();
  EXPECT_TRUE(explain(including()).hit);
  write_file(scratch_ / "include/lib/vec.cuh", vec_changed);
  const auto explanation = explain(including());
  const auto difference = only_difference(explanation);
  EXPECT_EQ(difference.field, Field::header);
  EXPECT_EQ(difference.text, "header vec.cuh changed, reached through lib/attn.cuh");
  EXPECT_EQ(explanation.reason, difference.text);
  EXPECT_EQ(explanation.nearest->key, made.key);
}

TEST_F(Explain, AnEmbeddedHeader) {
  auto spec = including();
  const std::string attn = "#include <lib/vec.cuh>\n";
  spec.headers = {HeaderSet::from_texts({{"lib/attn.cuh", attn}, {"lib/vec.cuh", vec_text}})};
  origin_of(spec);
  spec.headers = {HeaderSet::from_texts({{"lib/attn.cuh", attn}, {"lib/vec.cuh", vec_changed}})};
  EXPECT_EQ(only_difference(explain(spec)).text,
            "header lib/vec.cuh changed, reached through lib/attn.cuh")
      << "also where the include does not say so itself";
}

TEST_F(Explain, EveryHeaderThatChanged) {
  write_headers();
  origin_of(including());
  write_file(scratch_ / "include/lib/attn.cuh", "#pragma once\n#include \"vec.cuh\"\n//\n");
  write_file(scratch_ / "include/lib/vec.cuh", vec_changed);
  const auto explanation = explain(including());
  EXPECT_THAT(texts(explanation),
              ElementsAre("header lib/attn.cuh changed",
                          "header vec.cuh changed, reached through lib/attn.cuh"));
  EXPECT_EQ(explanation.reason, "header lib/attn.cuh changed");
}

TEST_F(Explain, AFileThatNewlyShadowsARecordedOne) {
  write_headers();
  auto spec = including();
  spec.include_dirs.insert(spec.include_dirs.begin(), scratch_ / "earlier");
  origin_of(spec);
  const auto earlier = scratch_ / "earlier/lib/attn.cuh";
  write_file(earlier, vec_changed);
  EXPECT_EQ(texts(explain(spec)).at(0), "header lib/attn.cuh changed: " + earlier.string() +
                                            " now comes before " +
                                            (scratch_ / "include/lib/attn.cuh").string());
}

TEST_F(Explain, AHeaderThatNewlyAppears) {
  auto spec = plain();
  spec.source = "#if __has_include(<more.cuh>)\n#include <more.cuh>\n#endif\n" + spec.source;
  spec.include_dirs = {scratch_ / "include"};
  origin_of(spec);
  write_file(scratch_ / "include/more.cuh", "#define B 1\n");
  const auto difference = only_difference(explain(spec));
  EXPECT_EQ(difference.field, Field::header);
  EXPECT_EQ(difference.text, "header more.cuh was absent and now is there");
}

TEST_F(Explain, AHeaderThatIsNotHere) {
  write_headers();
  origin_of(including());
  fs::remove_all(scratch_ / "include");
  const auto trusted = explain(including());
  EXPECT_TRUE(trusted.hit);
  EXPECT_EQ(trusted.remark,
            "2 of its headers are not here and are trusted: header lib/attn.cuh is not here");
  write_headers();
  write_file(scratch_ / "include/lib/vec.cuh", vec_changed);
  origin_of(including());
  fs::remove_all(scratch_ / "include");
  const auto explanation = explain(including());
  EXPECT_EQ(explanation.reason, "some of its headers are not here, and 2 entries differ in them");
  EXPECT_THAT(texts(explanation),
              ElementsAre("header lib/attn.cuh is not here", "header vec.cuh is not here"));
}

TEST_F(Explain, APathThatReachedTheOutput) {
  const auto where = scratch_ / "include/where.cuh";
  write_file(where, "__device__ inline const char* where() { return __FILE__; }\n");
  ProgramSpec spec{.name = "p.cu",
                   .source =
                       "#include <where.cuh>\n"
                       "__global__ void k(const char** x) { *x = where(); }",
                   .include_dirs = {scratch_ / "include"},
                   .kernels = {"k"}};
  origin_of(spec);
  fs::rename(scratch_ / "include", scratch_ / "moved");
  spec.include_dirs = {scratch_ / "moved"};
  const auto difference = only_difference(explain(spec));
  EXPECT_EQ(difference.field, Field::path);
  EXPECT_EQ(difference.text,
            "header where.cuh reached the output as " + where.string() + " and is now elsewhere");
}

TEST_F(Explain, AWorkingDirectoryThatReachedTheOutput) {
  auto spec = plain();
  spec.options = {"-lineinfo"};
  const auto before = fs::current_path();
  origin_of(spec);
  fs::current_path(scratch_.path());
  const auto explanation = explain(spec);
  fs::current_path(before);
  const auto difference = only_difference(explanation);
  EXPECT_EQ(difference.field, Field::working_directory);
  EXPECT_EQ(difference.text, "the working directory " + before.string() + " reached the output");
}

TEST_F(Explain, WhatIsNotKeptAndWhy) {
  auto spec = plain();
  spec.source += "__device__ const char* built() { return __TIME__; }\n";
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  const auto explanation = explain(spec);
  EXPECT_FALSE(explanation.hit);
  EXPECT_EQ(explanation.not_stored, "/kiln/plain.cu: it uses __DATE__, __TIME__ or __TIMESTAMP__");
}

TEST_F(Explain, TheNearestOfSeveral) {
  auto spec = plain();
  spec.options = {"-DA=1", "-DB=1", "-DC=1"};
  const auto one_option = try_compile(spec, "sm_80").value();
  spec.options = {"-DA=2", "-DB=2", "-DC=2"};
  origin_of(spec, "sm_80");
  spec.source += "//\n";
  spec.options = {"-DA=1", "-DB=1", "-DC=3"};
  origin_of(spec, "sm_80");
  spec.source = plain_source;
  const auto explanation = explain(spec, "sm_80");
  EXPECT_EQ(only_difference(explanation).text, "option 3: -DC=3, stored 1");
  EXPECT_EQ(explanation.nearest->key, one_option.key);
}

TEST_F(Explain, OfOneRequestTheEntryWhoseHeadersAreNearest) {
  write_headers();
  const auto near = try_compile(including()).value();
  write_file(scratch_ / "include/lib/attn.cuh", "#pragma once\n//\n#include \"vec.cuh\"\n");
  write_file(scratch_ / "include/lib/vec.cuh", vec_changed);
  origin_of(including());
  write_headers();
  write_file(scratch_ / "include/lib/vec.cuh", std::string(vec_text) + "//\n");
  EXPECT_EQ(explain(including()).nearest->key, near.key);
}

TEST_F(Explain, ADamagedEntry) {
  const auto made = try_compile(plain()).value();
  // Stored again under an image that its frame does not vouch for: the last bytes of the file's blobs.
  const auto file = Cache::open(cache_directory()).value().file();
  auto bytes = read_file(file);
  const auto at = bytes.rfind("kilF");
  ASSERT_NE(at, std::string::npos);
  for (auto position = bytes.find("kilF"); position != std::string::npos;
       position = bytes.find("kilF", position + 1)) {
    bytes[position + 30] ^= 1;
  }
  write_file(file, bytes);
  const auto explanation = explain(plain());
  EXPECT_EQ(explanation.reason, "what was stored for this request is damaged");
  EXPECT_EQ(only_difference(explanation).field, Field::entry);
  EXPECT_EQ(explanation.nearest->key, made.key);
}

TEST_F(Explain, LongValuesAreShortened) {
  origin_of(plain());
  auto changed = plain();
  changed.options[1] = "-DA=" + std::string(10'000, '1');
  const auto summary = explain(changed).summary();
  EXPECT_LT(summary.size(), 600U) << summary;
  EXPECT_THAT(summary, HasSubstr("option 2: -DA=111"));
}

TEST_F(Explain, TheSummaryIsOneLine) {
  origin_of(plain());
  auto changed = plain();
  changed.options = {"-DA=1", "-DB=1", "-DC=3", "-DD=4", "-DE=5", "-DF=6"};
  const auto explanation = explain(changed);
  const auto summary = explanation.summary();
  EXPECT_THAT(summary, StartsWith("plain.cu for sm_80 (request " + explanation.request.hex() +
                                  "): nothing is stored for this request; nearest is " +
                                  explanation.nearest->key.hex().substr(0, 12)));
  EXPECT_THAT(summary, testing::EndsWith("; and 3 more"));
  EXPECT_EQ(summary.find('\n'), std::string::npos);
}

TEST_F(Explain, TheSummarySaysTheOnlyDifferenceOnce) {
  write_headers();
  origin_of(including());
  write_file(scratch_ / "include/lib/vec.cuh", vec_changed);
  const auto explanation = explain(including());
  const auto summary = explanation.summary();
  EXPECT_EQ(summary.find(explanation.reason), summary.rfind(explanation.reason)) << summary;
  EXPECT_THAT(summary, HasSubstr("vec.cuh changed"));
}

TEST_F(Explain, OnlyLooks) {
  write_headers();
  ASSERT_EQ(run_in_child([&] {
              origin_of(including());
              return HasFailure();
            }),
            0);
  const auto before = snapshot();
  const bool mapped_before = has_nvrtc_mapped();
  ASSERT_EQ(run_in_child([&] {
              auto runtime = Runtime::open(options()).value();
              const auto target = Target::parse("sm_80").value();
              const auto hit = runtime.explain(Program::make(including()).value(), target);
              EXPECT_TRUE(hit && hit->hit);
              write_file(scratch_ / "include/lib/vec.cuh", vec_changed);
              const auto miss = runtime.explain(Program::make(including()).value(), target);
              EXPECT_TRUE(miss && !miss->hit && miss->nearest);
              EXPECT_EQ(has_nvrtc_mapped(), mapped_before);
              const auto counters = runtime.counters();
              EXPECT_EQ(counters.memory_hits + counters.local_hits + counters.misses +
                            counters.compiles + counters.stores,
                        0U);
              return HasFailure();
            }),
            0);
  EXPECT_EQ(snapshot(), before);
  EXPECT_TRUE(misses_.empty());
}

TEST_F(Explain, NeedsNoCompiler) {
  origin_of(plain());
  const ScopedVariable no_compiler("KILN_NVRTC", (scratch_ / "none").string());
  EXPECT_TRUE(explain(plain()).hit);
  EXPECT_EQ(only_difference(explain(plain(), "sm_90")).text, "architecture: sm_90, stored sm_80");
}

}  // namespace
}  // namespace kiln::test
