// Entries of headers on the disk, asked for by a program that embeds them, and the other way round.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

// What a program finds where `lib/d.h`, and what lies beside it, is on the disk or embedded. `more/o.h` is always there.
class Embedding : public CompileFixture {
 protected:
  using Texts = std::vector<HeaderSet::NamedText>;

  Embedding() {
    write_file(scratch_ / "more/o.h", "#define VALUE 2\n");
    spec_.name = "embedding.cu";
    spec_.kernels = {"k"};
    spec_.include_dirs = {scratch_ / "more"};
    set_source("");
  }

  void set_source(const std::string& beginning) {
    spec_.source = beginning + "#include <lib/d.h>\n__global__ void k(int* x) { *x = VALUE; }";
  }

  [[nodiscard]] ProgramSpec on_disk(const Texts& texts) const {
    auto spec = spec_;
    spec.include_dirs.insert(spec.include_dirs.begin(), scratch_ / "disk");
    fs::remove_all(scratch_ / "disk");
    for (const auto& [name, text] : texts) write_file(scratch_ / "disk" / name, text);
    return spec;
  }

  [[nodiscard]] ProgramSpec embedded(const Texts& texts) const {
    auto spec = spec_;
    spec.headers = {HeaderSet::from_texts(texts)};
    return spec;
  }

  /// That it is served, or not, and is what a compile with no cache makes of it.
  void expect(Origin origin, const ProgramSpec& spec) {
    const auto given = try_compile(spec);
    auto fresh_options = options();
    fresh_options.cache_disabled = true;
    fresh_options.observer = {};
    const auto fresh = Runtime::open(fresh_options)
                           ->compile(Program::make(spec).value(), Target::parse("sm_80").value());
    ASSERT_TRUE(given && fresh);
    EXPECT_EQ(given->origin, origin);
    EXPECT_TRUE(given->image == fresh->image);
  }

  ProgramSpec spec_;
};

TEST_F(Embedding, OfWhatAsksByItsNameChangesNothing) {
  for (const auto* asks :
       {"#include \"o.h\"\n", "#if __has_include(\"o.h\")\n#define VALUE 1\n#endif\n"}) {
    const Texts texts = {{"lib/d.h", asks}, {"lib/o.h", "#define VALUE 1\n"}};
    expect(Origin::compiled, on_disk(texts));
    expect(Origin::local, embedded(texts));
    expect(Origin::local, on_disk(texts));
  }
}

// The compiler gets a directive that names the neighbour only where the directive does.
TEST_F(Embedding, OfWhatAsksByAMacroMayFindAnother) {
  for (const auto* asks : {"#include O\n", "#if __has_include(O)\n#include O\n#endif\n",
                           "#ifndef O2\n#define O2 O\n#endif\n#include O2\n"}) {
    set_source("#define O \"o.h\"\n");
    const Texts texts = {{"lib/d.h", asks}, {"lib/o.h", "#define VALUE 1\n"}};
    expect(Origin::compiled, on_disk(texts));
    expect(Origin::compiled, embedded(texts));
    expect(Origin::local, on_disk(texts));
    expect(Origin::local, embedded(texts));
  }
}

// Whether a neighbour is there depends on no macro, and so on no text that nobody reads.
TEST_F(Embedding, OfANeighbourIsSeenWhateverItsNameMeans) {
  const Texts texts = {
      {"lib/d.h", "#if __has_include(\"o.h\")\n#define VALUE 1\n#else\n#define VALUE 2\n#endif\n"},
      {"lib/o.h", ""}};
  set_source("#if 0\n#include <never.h>\n#endif\n");
  expect(Origin::compiled, embedded(texts));
  write_file(scratch_ / "more/never.h", "#define o foo\n#define lib foo\n");
  expect(Origin::local, embedded(texts));
  set_source("#define lib foo\n#define o foo\n");
  spec_.source.replace(spec_.source.find("<lib/d.h>"), 9, "\"lib/d.h\"");
  expect(Origin::compiled, embedded(texts));
  expect(Origin::compiled, embedded({texts[0], {"lib/never.h", ""}}));
  expect(Origin::local, embedded(texts));
}

// What asks there shows nowhere; the directive that would find the same does not.
TEST_F(Embedding, OfAHiddenIncludeLooksInTheWorkingDirectory) {
  set_source("#define CAT(a, b) a##b\n#define O1 \"o.h\"\n");
  const auto spec =
      embedded({{"lib/d.h", "#include CAT(O, 1)\n#if 0\n#include \"o.h\"\n#endif\n"}});
  const auto before = fs::current_path();
  fs::create_directories(scratch_ / "here");
  fs::current_path(scratch_ / "here");
  expect(Origin::compiled, spec);
  expect(Origin::local, spec);
  write_file(scratch_ / "here/lib/o.h", "#define VALUE 8\n");
  expect(Origin::compiled, spec);
  expect(Origin::local, spec);
  fs::current_path(before);
}

TEST_F(Embedding, OfANeighbourWhoseNameFitsNoBrackets) {
  const Texts texts = {{"a>b/d.h", "#include \"o.h\"\n"}, {"a>b/o.h", "#define VALUE 1\n"}};
  write_file(scratch_ / "more/a", "#define VALUE 3\n");
  spec_.source = "#include \"a>b/d.h\"\n__global__ void k(int* x) { *x = VALUE; }";
  expect(Origin::compiled, on_disk(texts));
  expect(Origin::compiled, embedded(texts));
  expect(Origin::local, on_disk(texts));
}

TEST_F(Embedding, OfAQuestionLooksInTheWorkingDirectory) {
  set_source("#define lib lib\n");
  const Texts texts = {{"lib/d.h",
                        "#if __has_include(\"kiln/here.h\")\n#define VALUE 1\n#else\n"
                        "#define VALUE 2\n#endif\n"}};
  const auto before = fs::current_path();
  fs::create_directories(scratch_ / "here");
  fs::current_path(scratch_ / "here");
  expect(Origin::compiled, embedded(texts));
  fs::create_directories(scratch_ / "there");
  fs::current_path(scratch_ / "there");
  expect(Origin::local, embedded(texts));
  write_file(scratch_ / "there/lib/kiln/here.h", "");
  expect(Origin::compiled, embedded(texts));
  expect(Origin::local, embedded(texts));
  fs::current_path(scratch_ / "here");
  expect(Origin::local, embedded(texts));
  fs::current_path(before);
}

// There the compiler stops reading, in memory alone.
TEST_F(Embedding, OfAByteThatEndsATextIsAnotherProgram) {
  const Texts texts = {{"lib/d.h", "#define VALUE 1\n// \xff\n#undef VALUE\n#define VALUE 2\n"}};
  expect(Origin::compiled, on_disk(texts));
  expect(Origin::local, on_disk(texts));
  expect(Origin::compiled, embedded(texts));
  EXPECT_EQ(not_stored_.size(), 1U);
  expect(Origin::local, on_disk(texts));
}

}  // namespace
}  // namespace kiln::test
