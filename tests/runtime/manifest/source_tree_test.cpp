#include "manifest/source_tree.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"
#include "kiln/sources.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto of_source = Dependency::source_parent;
constexpr auto of_nobody = Dependency::no_parent;

Dependency read(std::string spelling, std::uint32_t parent, std::string_view text,
                std::string path = {}) {
  return {.spelling = std::move(spelling),
          .parent = parent,
          .beside = parent < Dependency::at_place || parent == of_source,
          .content = digest_of(text),
          .path = std::move(path)};
}

std::vector<std::string> places_of(const std::string& program, std::vector<Dependency> lookups,
                                   std::string working_directory = {}) {
  Request request;
  request.program = program;
  request.source = digest_of("source");
  std::vector<std::string> places;
  for (const auto& placed : source_tree_of(
           request, {.lookups = std::move(lookups), .working_directory = working_directory})) {
    places.push_back(placed.place);
  }
  return places;
}

TEST(SourceTree, HasTheNamesThatTheImageTells) {
  EXPECT_THAT(places_of("dir/k.cu",
                        {read("disk.h", of_nobody, "d", "/opt/engine/include/disk.h"),
                         read("e/embedded.h", of_nobody, "e", "e/embedded.h")},
                        "/srv/run"),
              ElementsAre("/kiln/dir/k.cu", "/opt/engine/include/disk.h", "/srv/run/e/embedded.h"));
}

TEST(SourceTree, KeepsNeighboursTogetherWhereTheImageTellsNothing) {
  EXPECT_THAT(
      places_of("dir/k.cu", {read("own.h", of_source, "o"), read("e/a.h", of_nobody, "a"),
                             read("../b.h", 1, "b"), read("1/f/p.h", Dependency::at_place, "p"),
                             read("/abs/q.h", Dependency::at_place, "q")}),
      ElementsAre("/kiln/dir/k.cu", "/kiln/dir/own.h", "/include/e/a.h", "/include/b.h",
                  "/include/f/p.h", "/abs/q.h"));
}

TEST(SourceTree, HasEachHeaderOnceAndOnlyWhatWasRead) {
  auto asked_for = read("asked.h", of_nobody, "x");
  asked_for.reach = Dependency::Reach::presence;
  Dependency absent{.spelling = "absent.h"};
  EXPECT_THAT(places_of("k.cu", {read("a.h", of_nobody, "a"), asked_for, absent,
                                 read("a.h", of_nobody, "a")}),
              ElementsAre("/kiln/k.cu", "/include/a.h"));
}

TEST(SourceTree, TellsWhereEachHeaderIsSearchedFor) {
  Request request;
  request.program = "k.cu";
  auto beside = read("own.h", of_source, "o");
  const auto tree = source_tree_of(
      request,
      {.lookups = {read("e/a.h", of_nobody, "a", "/opt/e/a.h"),
                   read("a.h", of_nobody, "a", "/opt/e/a.h"), beside,
                   read("x/../p.h", of_nobody, "p"), read("1/f/q.h", Dependency::at_place, "q")}});
  std::map<std::string, std::vector<std::string>> include_dirs;
  for (const auto& placed : tree) include_dirs[placed.place] = placed.include_dirs;
  EXPECT_THAT(include_dirs["/opt/e/a.h"], ElementsAre("/opt", "/opt/e"));
  EXPECT_THAT(include_dirs["/kiln/own.h"], IsEmpty()) << "beside the program";
  EXPECT_THAT(include_dirs["/include/p.h"], ElementsAre("/include"));
  EXPECT_THAT(include_dirs["/include/f/q.h"], ElementsAre("/include"));
}

TEST(SourceTree, NoNameLeadsUpwards) {
  EXPECT_THAT(
      places_of("k.cu",
                {read("../../up.h", of_nobody, "u"), read("x.h", of_nobody, "x", "/../../x"),
                 read("y.h", of_nobody, "y", "../../../y.h")},
                "/run"),
      ElementsAre("/kiln/k.cu", "/up.h", "/x", "/y.h"));
}

class LaidOut : public CompileFixture {
 protected:
  ProgramSpec spec(std::vector<std::string> options = {"-lineinfo"}) {
    return {.name = "dir/k.cu",
            .source = source_,
            .headers = {HeaderSet::from_texts({{"e/two.h", two_}})},
            .include_dirs = {scratch_ / "include"},
            .kernels = {"k"},
            .options = std::move(options)};
  }

  // One entry with these look-ups, put by hand: the texts of all, but for those named.
  StoredEntry put(Cache& cache, std::vector<Dependency> lookups,
                  const std::vector<std::string>& texts, const std::string& program = "k.cu") {
    Request request;
    request.program = program;
    request.source = digest_of(source_);
    request.arch = "sm_80";
    request.kind = "cubin";
    const DependencySet dependencies{.lookups = std::move(lookups)};
    const Toolchain toolchain{digest_of("compiler"), "NVRTC"};
    Artifact artifact;
    artifact.program = program;
    artifact.arch = request.arch;
    artifact.kind = request.kind;
    artifact.image = std::string("image");
    artifact.key = key_of(digest_of(request.material()), digest_of(dependencies.material()),
                          toolchain.identity);
    NewEntry entry{.request = request,
                   .dependencies = dependencies,
                   .toolchain = toolchain,
                   .artifact = artifact,
                   .texts = {{request.source, source_}}};
    for (const auto& text : texts) entry.texts.push_back({digest_of(text), text});
    const auto stored = cache.put(entry);
    EXPECT_TRUE(stored) << stored.error().message;
    return cache.entry(artifact.key).value();
  }

  Cache open_cache() { return Cache::open(cache_directory()).value(); }

  void write_header() { write_file(scratch_ / "include/one.h", one_); }

  const std::string one_ = "__device__ inline float one(float x) { return x * threadIdx.x; }\n";
  const std::string two_ = "__device__ inline float two(float x) { return x + threadIdx.y; }\n";
  const std::string source_ =
      "#include <one.h>\n#include <e/two.h>\n"
      "extern \"C\" __global__ void k(float* x) { *x = one(*x) + two(*x); }\n";
  const fs::path sources_ = scratch_ / "sources";
};

TEST_F(LaidOut, EveryFileThatTheImageNamesIsThere) {
  write_header();
  const auto artifact = try_compile(spec(), "sm_80", ImageKind::ptx);
  ASSERT_TRUE(artifact) << artifact.error().message;
  auto cache = open_cache();
  const auto laid_out = lay_out_sources(cache, cache.entry(artifact->key).value(), sources_);
  ASSERT_TRUE(laid_out) << laid_out.error().message;
  EXPECT_THAT(laid_out->skipped, IsEmpty());
  EXPECT_TRUE(laid_out->line_information);
  ASSERT_THAT(laid_out->files, SizeIs(3));
  EXPECT_EQ(read_file(laid_out->files[0]), source_);

  // What stands in the image is compared, not what kiln believes to stand there.
  const std::string ptx = artifact->image.string();
  std::map<std::string, std::string> texts{{"k.cu", source_}, {"one.h", one_}, {"two.h", two_}};
  for (auto at = ptx.find(".file"); at != std::string::npos; at = ptx.find(".file", at + 1)) {
    const auto begin = ptx.find('"', at) + 1;
    const auto path = ptx.substr(begin, ptx.find('"', begin) - begin);
    EXPECT_EQ(read_file(sources_ / fs::path(path).relative_path()),
              texts[fs::path(path).filename()])
        << path;
    texts.erase(fs::path(path).filename());
  }
  EXPECT_THAT(texts, IsEmpty()) << ptx;
}

TEST_F(LaidOut, AHeaderKeepsTheTimeThatTheImageTells) {
  write_header();
  const auto header = scratch_ / "include/one.h";
  fs::last_write_time(header, fs::last_write_time(header) - std::chrono::hours(30));
  const auto artifact = try_compile(spec());
  ASSERT_TRUE(artifact) << artifact.error().message;
  auto cache = open_cache();
  ASSERT_TRUE(lay_out_sources(cache, cache.entry(artifact->key).value(), sources_));
  EXPECT_EQ(fs::last_write_time(sources_ / header.relative_path()), fs::last_write_time(header));
}

TEST_F(LaidOut, AHostileEntryStaysWithin) {
  auto cache = open_cache();
  const auto entry = put(cache,
                         {read("a.h", of_nobody, "up", "/../../../outside"),
                          read("b.h", of_nobody, "ctl", "/x/\x1b]0;title\x07"),
                          read("c.h", of_nobody, "clash", "/kiln/k.cu"),
                          read("d.h", of_nobody, "below", "/kiln/k.cu/d.h"),
                          read("e.h", of_nobody, "link", "/link/e.h")},
                         {"up", "ctl", "clash", "below", "link"});
  fs::create_directory(scratch_ / "elsewhere");
  write_file(sources_ / ".kiln-sources", "");
  fs::create_directory_symlink(scratch_ / "elsewhere", sources_ / "link");
  const auto laid_out = lay_out_sources(cache, entry, sources_);
  ASSERT_TRUE(laid_out) << laid_out.error().message;
  EXPECT_THAT(laid_out->files, ElementsAre(sources_ / "kiln/k.cu", sources_ / "outside"));
  EXPECT_THAT(laid_out->skipped, SizeIs(4));
  EXPECT_EQ(read_file(sources_ / "kiln/k.cu"), source_);
  EXPECT_FALSE(laid_out->line_information);
  EXPECT_TRUE(fs::is_empty(scratch_ / "elsewhere"));
  EXPECT_FALSE(fs::exists(scratch_ / "outside"));
}

TEST_F(LaidOut, AHeaderThatLiesInAFolderAlikeIsNotWritten) {
  auto cache = open_cache();
  const auto toolkit = scratch_ / "toolkit";
  write_file(toolkit / "lib/same.h", "same");
  write_file(toolkit / "lib/other.h", "changed");
  const auto entry =
      put(cache,
          {read("lib/same.h", of_nobody, "same"), read("lib/other.h", of_nobody, "other"),
           read("at.h", of_nobody, "same", (toolkit / "lib/same.h").string())},
          {"same", "other"});
  const auto laid_out = lay_out_sources(cache, entry, sources_, {scratch_ / "none", toolkit});
  ASSERT_TRUE(laid_out) << laid_out.error().message;
  EXPECT_THAT(laid_out->files,
              ElementsAre(sources_ / "kiln/k.cu", sources_ / "include/lib/other.h"));
  EXPECT_THAT(laid_out->include_dirs, ElementsAre(sources_ / "include"));
  EXPECT_THAT(laid_out->skipped, IsEmpty());
}

TEST_F(LaidOut, TextsOfAnyOriginStayWithinToo) {
  const auto laid_out = lay_out_texts(
      {{"e/two.h", two_}, {"../up.h", "up"}, {"a\nb.h", "line"}, {"/abs.h", "abs"}}, sources_);
  ASSERT_TRUE(laid_out) << laid_out.error().message;
  EXPECT_THAT(laid_out->files, ElementsAre(sources_ / "e/two.h", sources_ / "abs.h"));
  EXPECT_THAT(laid_out->include_dirs, ElementsAre(sources_));
  EXPECT_THAT(laid_out->skipped, SizeIs(2));
  EXPECT_EQ(read_file(sources_ / "e/two.h"), two_);
  EXPECT_FALSE(fs::exists(scratch_ / "up.h"));
  write_file(scratch_ / "home/.profile", "mine");
  EXPECT_EQ(lay_out_texts({{"a.h", ""}}, scratch_ / "home").error().code,
            ErrorCode::invalid_argument);
}

TEST_F(LaidOut, WhatIsNotThereIsNamed) {
  auto cache = open_cache();
  const auto entry = put(cache, {read("gone.h", of_nobody, "gone")}, {});
  const auto laid_out = lay_out_sources(cache, entry, sources_);
  ASSERT_TRUE(laid_out) << laid_out.error().message;
  EXPECT_THAT(laid_out->skipped, ElementsAre(HasSubstr("/include/gone.h")));

  const auto bundle = scratch_ / "bare.kiln";
  ASSERT_TRUE(cache.export_bundle(bundle, {.without_sources = true}));
  auto bare = Cache::open_bundle(bundle).value();
  const auto refused =
      lay_out_sources(bare, bare.entry(entry.summary.key).value(), scratch_ / "none");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_THAT(refused.error().message, HasSubstr("stored without sources"));
  EXPECT_FALSE(fs::exists(scratch_ / "none"));
}

TEST_F(LaidOut, ARuntimeDoesSoWhenItCompilesAndNotWhenItServes) {
  write_header();
  const ScopedVariable variable("KILN_SOURCES_DIR", sources_.string());
  EXPECT_EQ(origin_of(spec()), Origin::compiled);
  EXPECT_EQ(read_file(sources_ / "kiln/dir/k.cu"), source_);
  EXPECT_EQ(read_file(sources_ / (scratch_ / "include/one.h").relative_path()), one_);
  fs::remove_all(sources_);
  EXPECT_EQ(origin_of(spec()), Origin::local);
  EXPECT_FALSE(fs::exists(sources_));
}

TEST_F(LaidOut, WhereItCannotARuntimeWarnsOnceAndCompiles) {
  write_header();
  write_file(sources_, "no folder");
  std::vector<std::string> said;
  auto options = this->options();
  options.sources_directory = sources_;
  options.log = [&](LogLevel, std::string_view line) { said.emplace_back(line); };
  auto runtime = Runtime::open(std::move(options)).value();
  for (const auto* option : {"-lineinfo", "-G"}) {
    const auto made =
        runtime.compile(Program::make(spec({option})).value(), Target::parse("sm_80").value());
    EXPECT_TRUE(made) << made.error().message;
  }
  EXPECT_THAT(said, ElementsAre(testing::AllOf(HasSubstr("KILN_SOURCES_DIR"),
                                               HasSubstr(sources_.string()))));
}

}  // namespace
}  // namespace kiln::test
