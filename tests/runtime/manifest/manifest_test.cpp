#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/kiln.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Manifest : public testing::Test {
 protected:
  Result<std::vector<ListedProgram>> read(const std::string& text) {
    write_file(scratch_ / "m/engine.json", text);
    return read_manifest(scratch_ / "m/engine.json");
  }

  ScratchDirectory scratch_;
};

std::vector<std::string> archs_of(const ListedProgram& listed) {
  std::vector<std::string> archs;
  for (const auto& target : listed.targets) archs.push_back(target.arch());
  return archs;
}

TEST_F(Manifest, IsReadRelativeToItself) {
  write_file(scratch_ / "m/kernels/a.cu", "// a");
  write_file(scratch_ / "m/device/engine/deep/vec.cuh", "// vec");
  const auto listing = read(R"({"kiln_manifest": 1, "targets": ["sm_80", "sm_90a"], "programs": [
      {"name": "a.cu", "source_file": "kernels/a.cu", "kernels": ["k<1>"], "options": ["-DX"],
       "include_dirs": ["../include", "/abs"], "header_dirs": ["device"]},
      {"name": "b.cu", "source": "// b", "headers": {"engine/x.cuh": "// x"},
       "standard_headers": true, "targets": ["compute_90"], "image": "ptx"}]})");
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->size(), 2u);
  const auto& a = listing->at(0);
  EXPECT_EQ(a.spec.source, "// a");
  EXPECT_THAT(a.spec.kernels, ElementsAre("k<1>"));
  EXPECT_THAT(a.spec.options, ElementsAre("-DX"));
  EXPECT_THAT(a.spec.include_dirs,
              ElementsAre(scratch_ / "m/kernels", scratch_ / "m/../include", "/abs"))
      << "what lies beside the source goes first";
  ASSERT_EQ(a.spec.headers.size(), 2u) << "its folder's, and kiln's own";
  ASSERT_NE(a.spec.headers[0].find("engine/deep/vec.cuh"), nullptr);
  EXPECT_EQ(a.spec.headers[0].find("engine/deep/vec.cuh")->text(), "// vec");
  EXPECT_THAT(archs_of(a), ElementsAre("sm_80", "sm_90a"));
  EXPECT_THAT(a.source_files, ElementsAre(testing::Pair("default", scratch_ / "m/kernels/a.cu")));
  EXPECT_THAT(a.header_dirs, ElementsAre(scratch_ / "m/device"));
  const auto& b = listing->at(1);
  EXPECT_EQ(b.spec.headers[0].find("engine/x.cuh")->text(), "// x");
  ASSERT_EQ(b.spec.headers.size(), 3u);
  EXPECT_NE(b.spec.headers[2].find("cstdint"), nullptr);
  EXPECT_THAT(archs_of(b), ElementsAre("compute_90"));
  EXPECT_EQ(b.targets[0].kind(), ImageKind::ptx);
  EXPECT_TRUE(b.source_files.empty() && b.header_dirs.empty()) << "the manifest holds all of it";
}

TEST_F(Manifest, NonsenseIsNamedWithFileProgramAndField) {
  const auto with = [](const std::string& fields) {
    return R"({"kiln_manifest":1,"targets":["sm_80"],"programs":[{"name":"a.cu","source":"","kernels":["k"]},)"
           R"({"name":"b.cu")" +
           fields + "}]}";
  };
  const struct {
    std::string text;
    std::vector<std::string> said;
  } table[] = {
      {"", {"no JSON"}},
      {"[]", {"object"}},
      {"{}", {"kiln_manifest", "must be 1"}},
      {R"({"kiln_manifest":2,"programs":[]})", {"kiln_manifest", "must be 1"}},
      {R"({"kiln_manifest":1})", {"programs", "list"}},
      {R"({"kiln_manifest":1,"programs":{}})", {"programs", "list"}},
      {R"({"kiln_manifest":1,"programs":[],"target":[]})", {"target", "no such field"}},
      {R"({"kiln_manifest":1,"programs":[],"programs":[]})", {"'programs' stands twice"}},
      {R"({"kiln_manifest":1,"programs":[3]})", {"programs[0]", "object"}},
      {R"({"kiln_manifest":1,"programs":[{"source":""}]})", {"programs[0]", "name: is missing"}},
      {R"({"kiln_manifest":1,"programs":[{"name":7,"source":""}]})", {"programs[0]", "name"}},
      {R"({"kiln_manifest":1,"image":"jpeg","programs":[]})", {"image", "jpeg"}},
      {R"({"kiln_manifest":1,"texts":{"00":"x"},"programs":[]})", {"texts.00", "damaged"}},
      {R"({"kiln_manifest":1,"texts":[],"programs":[]})", {"texts"}},
      {with(""), {"programs[1] (b.cu)", "source"}},
      {with(R"(,"source":"","source_file":"b.cu")"), {"programs[1] (b.cu)", "source", "one of"}},
      {with(R"(,"source_file":"none.cu")"), {"(b.cu)", "source_file", "none.cu"}},
      {with(R"(,"source_text":"00")"), {"(b.cu)", "source_text"}},
      {with(R"(,"source":"","kernel":["k"])"), {"(b.cu)", "kernel", "no such field"}},
      {with(R"(,"source":"","kernels":"k")"), {"(b.cu)", "kernels", "list of strings"}},
      {with(R"(,"source":"","kernels":[1])"), {"(b.cu)", "kernels", "list of strings"}},
      {with(R"(,"source":"","options":["-arch=sm_80"])"), {"(b.cu)", "-arch=sm_80"}},
      {with(R"(,"source":"","targets":["sm_9000"])"), {"(b.cu)", "targets", "sm_9000"}},
      {with(R"(,"source":"","targets":["sm_80","sm_80"])"), {"(b.cu)", "sm_80", "twice"}},
      {with(R"(,"source":"","header_dirs":["none"])"), {"(b.cu)", "header_dirs", "none"}},
      {with(R"(,"source":"","headers":["x"])"), {"(b.cu)", "headers"}},
      {with(R"(,"source":"","headers":{"x":1})"), {"(b.cu)", "headers.x"}},
      {with(R"(,"source":"","standard_headers":1)"), {"(b.cu)", "standard_headers", "true"}},
      {with(R"(,"source":"","recorded_headers":{"x":"00"})"), {"(b.cu)", "recorded_headers.x"}},
      {with(R"(,"source":"","recorded_headers":{"x":{"text":"","directory":-1}})"),
       {"(b.cu)", "recorded_headers.x: has a directory that is no number of one"}},
      {with(R"(,"source":"","embedded_names":"00")"), {"(b.cu)", "embedded_names", "no text"}},
      {with(R"(},{"name":"a.cu","source":"","kernels":["k"])"), {"(b.cu)", "source"}},
      {R"({"kiln_manifest":1,"targets":["sm_80"],"programs":[{"name":"a.cu","source":""},{"name":"a.cu","source":""}]})",
       {"programs[1] (a.cu)", "listed already", "programs[0]"}},
  };
  for (const auto& row : table) {
    const auto listing = read(row.text);
    ASSERT_FALSE(listing) << row.text;
    EXPECT_THAT(listing.error().message, HasSubstr("engine.json")) << row.text;
    for (const auto& said : row.said)
      EXPECT_THAT(listing.error().message, HasSubstr(said)) << row.text;
  }
}

TEST_F(Manifest, MayListVariants) {
  write_file(scratch_ / "m/kernels/hopper.cu", "// hopper");
  const auto listing = read(R"({"kiln_manifest": 1, "targets": ["sm_80", "sm_90a"], "programs": [
      {"name": "a.cu", "source": "// a", "kernels": ["k<1>"], "options": ["-DX"], "variants": [
        {"name": "hopper", "since": "sm_90a", "file": "hopper.cu",
         "source_file": "kernels/hopper.cu", "kernels": {"k<1>": "hopper::k<1, 4>"}},
        {"name": "ampere", "since": "sm_80", "options": []}]}]})");
  ASSERT_TRUE(listing) << listing.error().message;
  const auto& variants = listing->at(0).spec.variants;
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].name, "hopper");
  EXPECT_EQ(variants[0].since, "sm_90a");
  EXPECT_EQ(variants[0].file, "hopper.cu");
  EXPECT_EQ(variants[0].source, "// hopper");
  EXPECT_FALSE(variants[0].options) << "left out, so the program's";
  EXPECT_EQ(variants[0].kernels.at("k<1>"), "hopper::k<1, 4>");
  EXPECT_FALSE(variants[1].source);
  EXPECT_THAT(listing->at(0).source_files,
              ElementsAre(testing::Pair("hopper", scratch_ / "m/kernels/hopper.cu")));
  EXPECT_EQ(variants[1].options, std::vector<std::string>()) << "none, and not the program's";
}

TEST_F(Manifest, NonsenseOfAVariantIsNamedWithItsPlace) {
  const auto with = [](const std::string& variants) {
    return R"({"kiln_manifest":1,"targets":["sm_80"],"programs":[{"name":"a.cu","source":"",)"
           R"("kernels":["k"],"variants":)" +
           variants + "}]}";
  };
  const std::pair<std::string, const char*> table[] = {
      {R"({})", "(a.cu): variants: must be a list"},
      {R"([3])", "(a.cu): variants[0]: must be an object"},
      {R"([{"name":"a","since":"sm_80","targets":[]}])", "variants[0]: targets: there is no such"},
      {R"([{"name":"a","since":"sm_80","source":"","source_file":"x"}])", "variants[0]: source"},
      {R"([{"name":"a","since":"sm_80"},{"name":"b","since":"sm_90","source_file":"none.cu"}])",
       "variants[1]: source_file: cannot read"},
      {R"([{"name":"a","since":"sm_80","kernels":["k"]}])", "variants[0]: kernels: must be"},
      {R"([{"name":"a","since":"sm_80","kernels":{"k":1}}])", "variants[0]: kernels.k: must be"},
      {R"([{"name":"a","since":"sm_80","kernels":{"k":"f","k ":"g"}}])",
       "variant 'a': 'k' stands for both 'f' and 'g'"},
      {R"([{"name":"a","since":"now"}])", "variant 'a': since 'now' is no architecture"},
      {R"([{"name":"a","since":"sm_80","kernels":{"j":"k"}}])", "'j' is not among"},
  };
  for (const auto& [variants, said] : table) {
    const auto listing = read(with(variants));
    ASSERT_FALSE(listing) << variants;
    EXPECT_THAT(listing.error().message, HasSubstr(said)) << variants;
  }
}

// They differ in a variant alone, and each has images that the other has not.
TEST_F(Manifest, ProgramsOfOtherVariantsAreOtherPrograms) {
  const std::string program = R"({"name":"a.cu","source":"","variants":[{"name":"v","since":)";
  const auto both = read(R"({"kiln_manifest":1,"targets":["sm_80"],"programs":[)" + program +
                         R"("sm_80"}]},)" + program + R"("sm_90"}]}]})");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->size(), 2u);
}

TEST_F(Manifest, ThatNestsDeeplyIsRefused) {
  const std::string deep(200'000, '[');
  const std::string closed = deep + std::string(200'000, ']');
  for (const auto& value : {deep, closed}) {
    const auto listing = read(R"({"kiln_manifest":1,"programs":[)" + value + "]}");
    ASSERT_FALSE(listing);
    EXPECT_THAT(listing.error().message, HasSubstr("nest deeper"));
  }
  // A text may hold as many brackets as it likes.
  EXPECT_TRUE(
      read(R"({"kiln_manifest":1,"programs":[{"name":"a.cu","targets":["sm_80"],"source":"\")" +
           deep + "\"}]}"));
}

TEST_F(Manifest, ThatIsNotThereIsAnError) {
  const auto listing = read_manifest(scratch_ / "none.json");
  ASSERT_FALSE(listing);
  EXPECT_EQ(listing.error().code, ErrorCode::io_failed);
  EXPECT_THAT(listing.error().message, HasSubstr("none.json"));
}

// Files that open and cannot be read, as on a disk that fails.
TEST_F(Manifest, ThatCannotBeReadIsAnErrorAndSoIsItsSource) {
  const auto failing = read_manifest("/proc/self/mem");
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.error().code, ErrorCode::io_failed) << failing.error().message;
  write_file(
      scratch_ / "engine.json",
      R"({"kiln_manifest": 1, "programs": [{"name": "a.cu", "source_file": "/proc/self/mem"}]})");
  const auto source = read_manifest(scratch_ / "engine.json");
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("/proc/self/mem"));
}

TEST_F(Manifest, OfOneDocumentPerLineMayEndTorn) {
  const std::string line =
      R"({"kiln_manifest":1,"programs":[{"name":"a.cu","source":"","targets":["sm_80"]}]})";
  const std::string other =
      R"({"kiln_manifest":1,"programs":[{"name":"b.cu","source":"","targets":["sm_80"]}]})";
  EXPECT_EQ(read(line + '\n' + other + '\n')->size(), 2u);
  EXPECT_EQ(read(line + '\n' + other.substr(0, 30))->size(), 1u);
  const auto damaged = read(line + '\n' + other.substr(0, 30) + '\n' + other + '\n');
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("line 2"));
}

}  // namespace
}  // namespace kiln::test
