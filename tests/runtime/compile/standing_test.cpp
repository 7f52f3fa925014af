// Where a process stands while it compiles: with line information that reaches the output, and there is looked for what an
// embedded header quotes.

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// In this process and in workers.
class StandingTest : public CompileFixture, public ::testing::WithParamInterface<unsigned> {
 protected:
  StandingTest() {
    compile_workers_ = GetParam();
    for (const auto& folder : {here_, there_}) fs::create_directory(folder);
    write_file(here_ / "quoted.h", "#define NUMBER 111\n");
  }
  ~StandingTest() override { fs::current_path("/"); }

  /// A program of its own for each number.
  static ProgramSpec plain(int number) {
    return {.name = "k" + std::to_string(number) + ".cu",
            .source = "__global__ void k(int* x) { *x = " + std::to_string(number) + "; }",
            .kernels = {"k"}};
  }

  static ProgramSpec with_line_information(int number) {
    auto spec = plain(number);
    spec.options = {"-G"};
    return spec;
  }

  /// A scan does not see what this header quotes.
  static ProgramSpec quoting() {
    return {.name = "quoting.cu",
            .source = "#include \"quotes.h\"\n__global__ void k(int* x) { *x = NUMBER; }",
            .headers = {HeaderSet::from_texts(
                {{"quotes.h", "#define QUOTED \"quoted.h\"\n#include QUOTED\n"}})},
            .kernels = {"k"}};
  }

  /// As a shell does.
  static void go_to(const fs::path& folder) {
    fs::current_path(folder);
    ::setenv("PWD", folder.c_str(), 1);
  }

  void stand_where_nothing_is() {
    const auto gone = scratch_ / "gone";
    fs::create_directory(gone);
    fs::current_path(gone);
    fs::remove(gone);
  }

  Result<Artifact> compile(ProgramSpec spec, ImageKind kind = ImageKind::cubin) {
    return runtime_.compile(Program::make(std::move(spec)).value(),
                            Target::parse("sm_80", kind).value());
  }

  const fs::path here_ = scratch_ / "here";
  const fs::path there_ = scratch_ / "there";
  Runtime runtime_ = [this] {
    compile_workers_ = GetParam();
    return Runtime::open(options()).value();
  }();
};

TEST_P(StandingTest, LineInformationOfAFolderThatIsGoneIsNotKept) {
  go_to(here_);
  EXPECT_EQ(compile(with_line_information(1))->not_kept, "");
  stand_where_nothing_is();
  const auto artifact = compile(with_line_information(2));
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_THAT(artifact->not_kept, HasSubstr("the working directory, which has no name any more"));
  EXPECT_THAT(artifact->image.string(), Not(HasSubstr(here_.string())));
  go_to(there_);
  EXPECT_EQ(compile(with_line_information(2))->origin, Origin::compiled);
}

TEST_P(StandingTest, NothingIsFoundInAFolderWhereThisProcessStandsNoMore) {
  go_to(here_);
  EXPECT_TRUE(compile(quoting()));
  stand_where_nothing_is();
  auto another = quoting();
  another.options = {"-DANOTHER"};
  const auto failed = compile(another);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::header_not_found);
}

TEST_P(StandingTest, BitcodeIsTheSameWhereverItIsMade) {
  for (const auto kind : {ImageKind::ltoir, ImageKind::optixir}) {
    go_to(here_);
    const auto image = try_compile(plain(1), "sm_80", kind)->image;
    ASSERT_TRUE(Cache::open(cache_directory())->clear());
    go_to(there_);
    const auto again = try_compile(plain(1), "sm_80", kind);
    EXPECT_EQ(again->origin, Origin::compiled);
    EXPECT_EQ(again->image, image) << to_string(kind);
  }
}

TEST_P(StandingTest, WhatAnEmbeddedHeaderQuotesIsFoundAgainWithLineInformationToo) {
  go_to(here_);
  auto spec = quoting();
  spec.options = {"-lineinfo"};
  EXPECT_EQ(compile(spec)->not_kept, "");
  EXPECT_EQ(origin_of(spec), Origin::local);
  go_to(there_);
  const auto failed = compile(spec);
  EXPECT_FALSE(failed) << "it is not here";
}

// A link leads to the folder, and the shell says so.
TEST_P(StandingTest, LineInformationIsOfTheFolderAndNotOfALinkToIt) {
  fs::create_directory_symlink(here_, scratch_ / "link");
  go_to(scratch_ / "link");
  const auto image = compile(with_line_information(1))->image.string();
  EXPECT_THAT(std::string(image), HasSubstr(here_.string()));
  EXPECT_THAT(std::string(image), Not(HasSubstr((scratch_ / "link").string())));
}

// Another thread may go to and fro: the image has one folder, and that is the one it is kept for.
TEST_P(StandingTest, LineInformationIsOfTheFolderThatItIsKeptFor) {
  std::atomic<bool> done = false;
  go_to(here_);
  std::thread walker([&] {
    while (!done) {
      fs::current_path(there_);
      fs::current_path(here_);
    }
  });
  for (int number = 0; number < 8; ++number) {
    const auto artifact = compile(with_line_information(number));
    EXPECT_TRUE(artifact) << artifact.error().message;
  }
  done = true;
  walker.join();
  auto cache = Cache::open(cache_directory()).value();
  const auto entries = cache.list().value();
  for (const auto& summary : entries) {
    const auto entry = cache.entry(summary.key).value();
    const auto image = entry.artifact.image.string();
    for (const auto& folder : {here_, there_}) {
      EXPECT_EQ(image.find(folder.string()) != std::string::npos,
                entry.dependencies.working_directory == folder.string())
          << entry.dependencies.working_directory;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, StandingTest, ::testing::Values(0U, 1U), [](const auto& way) {
  return std::string(way.param == 0 ? "InProcess" : "InAWorker");
});

}  // namespace
}  // namespace kiln::test
