// Programs of which a scan cannot tell what they ask for, recorded where their headers lay on the disk and prewarmed where they
// do not.

#include "manifest/recorded_trees.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/manifest.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

HeaderSet::SharedText header(std::string name, std::string text) {
  return {std::move(name), std::make_shared<const std::string>(std::move(text))};
}

TEST(RecordedTrees, LayOutEachListOnce) {
  RecordedTrees trees;
  const auto one = trees.directory_of({header("e/a.h", "a"), header("e/b.h", "a")}).value();
  const auto other = trees.directory_of({header("e/a.h", "another")}).value();
  EXPECT_EQ(read_file(one / "e/a.h"), "a");
  EXPECT_EQ(read_file(other / "e/a.h"), "another");
  EXPECT_FALSE(fs::exists(other / "e/b.h"));
  EXPECT_FALSE(fs::equivalent(one / "e/a.h", one / "e/b.h")) << "`#pragma once` goes by the file";
  const auto time = fs::last_write_time(one / "e/a.h");
  EXPECT_EQ(trees.directory_of({header("e/a.h", "a"), header("e/b.h", "a")}).value(), one);
  EXPECT_EQ(fs::last_write_time(one / "e/a.h"), time);
}

TEST(RecordedTrees, GoWithTheirOwner) {
  fs::path directory;
  {
    RecordedTrees trees;
    directory = trees.directory_of({header("a.h", "a")}).value();
    EXPECT_TRUE(fs::exists(directory));
    EXPECT_EQ(trees.without_folders((directory / "e/a.h").string() + "(1): warning"),
              "e/a.h(1): warning");
  }
  EXPECT_FALSE(fs::exists(directory));
}

TEST(RecordedTrees, HoldNoNameThatLeadsElsewhere) {
  for (const auto* name : {"a.h", "e/a.h", "e/...h", "e/../a.h", "./a.h", "e//a.h"})
    EXPECT_TRUE(RecordedTrees::can_hold(name)) << name;
  for (const auto* name : {"", ".", "e/", "/e/a.h", "../a.h", "e/../../a.h"})
    EXPECT_FALSE(RecordedTrees::can_hold(name)) << name;
}

/// An engine that asks for headers by a macro, which a scan does not follow.
class UnsureRecord : public CompileFixture {
 protected:
  UnsureRecord() {
    write_file(
        include() / "engine/attn.cuh",
        "#pragma once\n#define INNER(x) __has_include(x)\n#define HAS(x) INNER(x)\n"
        "#include \"detail/tile.cuh\"\n#include \"vec.cuh\"\n"
        "#if HAS(<engine/extra.cuh>)\n#include <engine/extra.cuh>\n#else\n#define EXTRA 0\n#endif\n"
        "#if HAS(\"wide.cuh\")\n#define WIDE 1\n#else\n#define WIDE 0\n#endif\n");
    write_file(include() / "engine/detail/tile.cuh",
               "#pragma once\n#include \"../vec.cuh\"\n#define TILE 16\n");
    write_file(include() / "engine/vec.cuh", "#pragma once\nstruct Vec { float x, y; };\n");
    write_file(include() / "engine/wide.cuh", "#error nobody reads it\n");
    fs::create_directories(first());
  }

  [[nodiscard]] fs::path include() const { return scratch_ / "include"; }
  [[nodiscard]] fs::path first() const { return scratch_ / "first"; }
  [[nodiscard]] fs::path record() const { return scratch_ / "record.json"; }
  [[nodiscard]] fs::path farm() const { return scratch_ / "farm"; }

  [[nodiscard]] ProgramSpec engine() const {
    return {.name = "attn.cu",
            .source =
                "#include <engine/attn.cuh>\n#include <cuda_fp16.h>\n"
                "__global__ void k(Vec* v, __half* h) {\n"
                "  v->x = TILE + EXTRA + 2 * WIDE; h[0] = h[1]; }",
            .headers = {device_headers()},
            .include_dirs = {first(), include()},
            .kernels = {"k"}};
  }

  [[nodiscard]] HeaderSet embedded(const std::vector<std::string>& names) const {
    std::vector<HeaderSet::NamedText> texts;
    for (const auto& name : names) texts.push_back({name, read_file(include() / name)});
    return HeaderSet::from_texts(std::move(texts));
  }

  Artifact ask(ProgramSpec spec, const std::string& arch = "sm_80") {
    auto options = this->options();
    options.record = record();
    return compile(Runtime::open(std::move(options)).value(), std::move(spec), arch);
  }

  /// Has what was written down compiled where the headers are not.
  Result<Artifact> prewarm(const std::string& arch = "sm_80") {
    return prewarm(read_manifest(record()).value().at(0), arch);
  }

  Result<Artifact> prewarm(const ListedProgram& listed, const std::string& arch) {
    fs::rename(include(), scratch_ / "away");
    auto made = compile_listed(Runtime::open({.cache_directory = farm()}).value(), listed, arch);
    fs::rename(scratch_ / "away", include());
    return made;
  }

  static Result<Artifact> compile_listed(Runtime runtime, const ListedProgram& listed,
                                         const std::string& arch) {
    return runtime.compile(runtime.program_of(listed).value(), Target::parse(arch).value());
  }

  /// What the engine gets of the prewarmed cache.
  Artifact get(ProgramSpec spec, const std::string& arch = "sm_80") {
    return compile(Runtime::open({.cache_directory = farm()}).value(), std::move(spec), arch);
  }

  static Artifact compile(Runtime runtime, ProgramSpec spec, const std::string& arch) {
    auto made =
        runtime.compile(Program::make(std::move(spec)).value(), Target::parse(arch).value());
    EXPECT_TRUE(made) << made.error().message << made.error().log;
    return made.value_or(Artifact());
  }
};

TEST_F(UnsureRecord, OfARunServesWhoHasItsHeadersOnDisk) {
  const auto own = ask(engine());
  ASSERT_TRUE(prewarm());
  const auto served = get(engine());
  EXPECT_EQ(served.origin, Origin::local);
  EXPECT_EQ(served.image, own.image);
}

TEST_F(UnsureRecord, OfARunServesOtherArchitecturesToo) {
  ask(engine());
  ASSERT_TRUE(prewarm("sm_90"));
  EXPECT_EQ(get(engine(), "sm_90").origin, Origin::local);
}

TEST_F(UnsureRecord, OfACacheServesWhoHasItsHeadersOnDisk) {
  ask(engine());
  auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only}).value();
  ASSERT_TRUE(prewarm(recorded_programs(cache).value().programs.at(0), "sm_80"));
  EXPECT_EQ(get(engine()).origin, Origin::local);
}

TEST_F(UnsureRecord, IsPrewarmedOnce) {
  ask(engine());
  EXPECT_EQ(prewarm()->origin, Origin::compiled);
  EXPECT_EQ(prewarm()->origin, Origin::local);
}

TEST_F(UnsureRecord, ServesATreeThatMoved) {
  ask(engine());
  ASSERT_TRUE(prewarm());
  fs::rename(include(), scratch_ / "moved");
  auto spec = engine();
  spec.include_dirs = {scratch_ / "moved"};
  EXPECT_EQ(get(std::move(spec)).origin, Origin::local);
}

// A look-up that goes on behind a directory counts them.
TEST_F(UnsureRecord, LiesInAsManyDirectoriesAsItDid) {
  write_file(first() / "engine/two.cuh",
             "#pragma once\n#if __CUDA_ARCH__ < 100\n#include_next <engine/two.cuh>\n#endif\n"
             "#define TWO 2\n");
  auto spec = engine();
  spec.source.insert(0, "#include <engine/two.cuh>\n");
  const auto own = ask(spec);
  fs::rename(first(), scratch_ / "first-away");
  ASSERT_TRUE(prewarm());
  fs::rename(scratch_ / "first-away", first());
  const auto served = get(spec);
  EXPECT_EQ(served.origin, Origin::local);
  EXPECT_EQ(served.image, own.image);
  // It would come second now.
  std::swap(spec.include_dirs.front(), spec.include_dirs.back());
  EXPECT_EQ(get(spec).origin, Origin::compiled);
}

// The image of headers that are others by now is never served.
TEST_F(UnsureRecord, ServesNobodyWhoseHeadersAreOthers) {
  const auto own = ask(engine());
  ASSERT_TRUE(prewarm());
  const auto expect_another = [&](const fs::path& file, const std::string& text) {
    const auto before = fs::exists(file) ? read_file(file) : std::string();
    write_file(file, text);
    const auto made = get(engine());
    EXPECT_EQ(made.origin, Origin::compiled) << file;
    EXPECT_NE(made.image, own.image) << file;
    fs::remove(file);
    if (!before.empty()) write_file(file, before);
  };
  expect_another(include() / "engine/detail/tile.cuh", "#define TILE 32\n");
  expect_another(include() / "engine/extra.cuh", "#define EXTRA 5\n");
  expect_another(first() / "engine/attn.cuh",
                 "struct Vec { float x, y; };\n#define TILE 3\n#define EXTRA 0\n#define WIDE 0\n");
  EXPECT_EQ(get(engine()).origin, Origin::local);
}

TEST_F(UnsureRecord, ServesNobodyWhereAHeaderThatWasAskedForIsGone) {
  const auto own = ask(engine());
  ASSERT_TRUE(prewarm());
  fs::remove(include() / "engine/wide.cuh");
  const auto made = get(engine());
  EXPECT_EQ(made.origin, Origin::compiled);
  EXPECT_NE(made.image, own.image);
}

TEST_F(UnsureRecord, OfEmbeddedHeadersServesWhoEmbedsThem) {
  auto spec = engine();
  spec.headers = {embedded({"engine/attn.cuh", "engine/vec.cuh", "engine/detail/tile.cuh"}),
                  HeaderSet::from_texts({{"engine/unread.cuh", "unread"}}), device_headers()};
  spec.include_dirs = {};
  const auto own = ask(spec);
  ASSERT_TRUE(prewarm());
  const auto served = get(spec);
  EXPECT_EQ(served.origin, Origin::local);
  EXPECT_EQ(served.image, own.image);
}

TEST_F(UnsureRecord, ServesWhoEmbedsSomeHeadersAndHasOthersOnDisk) {
  auto spec = engine();
  spec.headers = {embedded({"engine/vec.cuh"}),
                  HeaderSet::from_texts({{"engine/unread.cuh", "unread"}})};
  const auto own = ask(spec);
  ASSERT_TRUE(prewarm());
  const auto served = get(spec);
  EXPECT_EQ(served.origin, Origin::local);
  EXPECT_EQ(served.image, own.image);
  // That one is there may count where its text does not.
  spec.headers.push_back(HeaderSet::from_texts({{"engine/extra.cuh", "#define EXTRA 5\n"}}));
  const auto another = get(spec);
  EXPECT_EQ(another.origin, Origin::compiled);
  EXPECT_NE(another.image, own.image);
}

// Of a header that was embedded and not read, a record has the name alone.
TEST_F(UnsureRecord, FailsWhereAHeaderIsReadThatItDoesNotHold) {
  write_file(include() / "engine/vec.cuh",
             "#pragma once\nstruct Vec { float x, y; };\n#if __CUDA_ARCH__ >= 900\n"
             "#include <engine/newer.cuh>\n#endif\n");
  auto spec = engine();
  spec.headers = {HeaderSet::from_texts({{"engine/newer.cuh", "#define NEWER 1\n"}})};
  ask(spec);
  const auto failed = prewarm("sm_90");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().log, HasSubstr("the name of this header alone"));
  EXPECT_EQ(get(spec, "sm_90").origin, Origin::compiled);
}

// As an engine does that ships a toolkit of its own: its header is not this toolkit's.
TEST_F(UnsureRecord, NeverMixesTwoToolkits) {
  write_file(include() / "cuda_fp16.h", "struct __half { int own; };\n");
  const auto own = ask(engine());
  ASSERT_TRUE(prewarm());
  const auto served = get(engine());
  EXPECT_EQ(served.origin, Origin::local);
  EXPECT_EQ(served.image, own.image);
}

TEST_F(UnsureRecord, NamesHeadersInMessages) {
  write_file(include() / "engine/vec.cuh",
             "#pragma once\n#warning old\nstruct Vec { float x, y; };\n");
  ask(engine());
  const auto made = prewarm().value();
  EXPECT_THAT(made.log, HasSubstr("engine/"));
  EXPECT_THAT(made.log, HasSubstr("vec.cuh(2)"));
  EXPECT_THAT(made.log, Not(HasSubstr("kiln-scratch")));
}

TEST_F(UnsureRecord, NamesHeadersInErrors) {
  write_file(
      include() / "engine/vec.cuh",
      "#pragma once\n#if __CUDA_ARCH__ >= 900\n#error none\n#endif\nstruct Vec { float x, y; };\n");
  ask(engine());
  const auto failed = prewarm("sm_90");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().log, HasSubstr("vec.cuh(3)"));
  EXPECT_THAT(failed.error().log, Not(HasSubstr("kiln-scratch")));
}

// Nobody would ever ask for an image that tells where its headers lay meanwhile.
TEST_F(UnsureRecord, IsNotKeptWhereAPathReachesTheOutput) {
  write_file(include() / "engine/vec.cuh",
             "#pragma once\nstruct Vec { float x, y; };\n"
             "extern \"C\" __device__ int printf(const char*, ...);\n"
             "#if __CUDA_ARCH__ >= 900\n"
             "__device__ inline void tell() { printf(\"%s %d\", __FILE__, __LINE__); }\n"
             "#else\n__device__ inline void tell() {}\n#endif\n");
  auto spec = engine();
  spec.source += "\n__global__ void teller() { tell(); }";
  spec.kernels = {"k", "teller"};
  ask(spec);
  const auto made = prewarm("sm_90").value();
  EXPECT_THAT(made.not_kept, HasSubstr("vec.cuh lies counts"));
  EXPECT_EQ(get(spec, "sm_90").origin, Origin::compiled);
}

}  // namespace
}  // namespace kiln::test
