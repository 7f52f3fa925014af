// The stores beneath memory: a cache that fails, and bundles.

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

class LayersTest : public CompileFixture {
 protected:
  static ProgramSpec spec() {
    return {.name = "k.cu", .source = "__global__ void k(int* x) { *x = 1; }", .kernels = {"k"}};
  }

  RuntimeOptions logged() {
    auto options = this->options();
    options.log = [this](LogLevel, std::string_view line) { said_.emplace_back(line); };
    return options;
  }

  static Result<Artifact> compile(Runtime& runtime) {
    return runtime.compile(Program::make(spec()).value(), Target::parse("sm_80").value());
  }

  std::filesystem::path make_bundle() {
    EXPECT_TRUE(try_compile(spec()));
    const auto bundle = scratch_ / "kernels.bundle";
    EXPECT_TRUE(Cache::open(cache_directory()).value().export_bundle(bundle));
    std::filesystem::remove_all(cache_directory());
    return bundle;
  }

  std::vector<std::string> said_;
};

TEST_F(LayersTest, ABundleServesWhatTheCacheDoesNotHave) {
  auto options = logged();
  options.bundles = {make_bundle()};
  auto runtime = Runtime::open(std::move(options)).value();
  const auto artifact = compile(runtime);
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->origin, Origin::bundle);
  EXPECT_EQ(runtime.counters().bundle_hits, 1U);
  EXPECT_EQ(runtime.counters().compiles, 0U);
  EXPECT_TRUE(said_.empty());
}

TEST_F(LayersTest, ABundleInMemoryServesWithNoFileAtAll) {
  const auto bytes = read_file(make_bundle());
  auto options = logged();
  options.cache_disabled = true;
  options.embedded_bundles = {std::as_bytes(std::span(bytes))};
  auto runtime = Runtime::open(std::move(options)).value();
  const auto artifact = compile(runtime);
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->origin, Origin::bundle);
  EXPECT_FALSE(std::filesystem::exists(cache_directory()));
}

TEST_F(LayersTest, ABundleThatIsNoneCostsAWarning) {
  const auto file = scratch_ / "no.bundle";
  write_file(file, "not a bundle");
  auto options = logged();
  options.bundles = {file, scratch_ / "absent.bundle"};
  auto runtime = Runtime::open(std::move(options)).value();
  ASSERT_TRUE(compile(runtime));
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_NE(said_[0].find("no.bundle"), std::string::npos) << said_[0];
  EXPECT_NE(said_[1].find("absent.bundle"), std::string::npos) << said_[1];
}

TEST_F(LayersTest, ACorruptCacheIsSetAsideWithOneWarning) {
  ASSERT_TRUE(try_compile(spec()));
  const auto file = cache_directory() / "kernels.v1.db";
  const std::string garbage(20'000, 'x');
  std::ofstream(file, std::ios::binary | std::ios::trunc) << garbage;
  auto runtime = Runtime::open(logged()).value();
  ASSERT_TRUE(compile(runtime));
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_NE(said_[0].find("kernels.v1.g2.db"), std::string::npos) << said_[0];
  EXPECT_EQ(read_file(file), garbage) << "what was there is left as it was";
  EXPECT_EQ(try_compile(spec())->origin, Origin::local);
}

TEST_F(LayersTest, ADamagedEntryIsAMissThatSaysSo) {
  ASSERT_TRUE(try_compile(spec()));
  const auto file = cache_directory() / "kernels.v1.db";
  std::string bytes = read_file(file);
  const auto frame = bytes.rfind("kilF");
  ASSERT_NE(frame, std::string::npos);
  for (auto at = bytes.find("kilF"); at != std::string::npos; at = bytes.find("kilF", at + 1)) {
    bytes[at + 60] = static_cast<char>(bytes[at + 60] ^ 1);
  }
  write_file(file, bytes);
  misses_.clear();
  const auto artifact = try_compile(spec());
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->origin, Origin::compiled);
  ASSERT_EQ(misses_.size(), 1U);
  EXPECT_NE(misses_[0].find("damaged"), std::string::npos) << misses_[0];
}

TEST_F(LayersTest, WhatIsTooLargeIsServedAndNotStored) {
  auto options = logged();
  options.cache_max_bytes = 1;
  options.observer = [this](const Event& event) {
    if (event.kind == EventKind::not_stored) not_stored_.emplace_back(event.detail);
  };
  auto runtime = Runtime::open(std::move(options)).value();
  ASSERT_TRUE(compile(runtime));
  ASSERT_EQ(not_stored_.size(), 1U);
  EXPECT_NE(not_stored_[0].find("size cap"), std::string::npos) << not_stored_[0];
  EXPECT_EQ(compile(runtime)->origin, Origin::memory);
}

}  // namespace
}  // namespace kiln::test
