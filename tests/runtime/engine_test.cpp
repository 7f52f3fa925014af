// Engines that share a cache, each with entries of its own.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

class Engine : public CompileFixture {
 protected:
  Runtime open(const std::string& engine) {
    auto with = options();
    with.engine = engine;
    return Runtime::open(with).value();
  }

  static Program program() {
    return Program::make(
               {.name = "a.cu", .source = "extern \"C\" __global__ void k() {}", .kernels = {"k"}})
        .value();
  }

  Origin origin(const std::string& engine) {
    return open(engine).compile(program(), "sm_80").value().origin;
  }
};

TEST_F(Engine, IsServedItsOwnEntriesAlone) {
  for (const auto* engine : {"", "acme 1", "acme 2"})
    EXPECT_EQ(origin(engine), Origin::compiled) << engine;
  for (const auto* engine : {"", "acme 1", "acme 2"})
    EXPECT_EQ(origin(engine), Origin::local) << engine;
}

TEST_F(Engine, IsTheFirstThingThatExplainTells) {
  ASSERT_EQ(origin("acme 1"), Origin::compiled);
  const auto why = open("acme 2").explain(program(), "sm_80").value();
  ASSERT_TRUE(why.nearest);
  ASSERT_EQ(why.nearest->differences.size(), 1U);
  EXPECT_EQ(why.nearest->differences[0],
            (Difference{Difference::Field::engine, "engine: acme 2, stored acme 1"}));
}

TEST_F(Engine, HasItsOwnImagesOfImages) {
  const auto link = [&](const std::string& engine) {
    auto runtime = open(engine);
    const auto input =
        runtime.compile(program(), Target::parse("sm_80", ImageKind::ltoir).value()).value();
    return runtime.link({.name = "all.link", .inputs = {input}, .target = "sm_80"});
  };
  const auto first = link("acme 1");
  if (!first && first.error().code == ErrorCode::compiler_missing)
    GTEST_SKIP() << "no nvJitLink: " << first.error();
  EXPECT_EQ(first.value().origin, Origin::compiled);
  EXPECT_EQ(link("acme 2").value().origin, Origin::compiled);
  EXPECT_EQ(link("acme 1").value().origin, Origin::local);
}

TEST_F(Engine, IsNamedInTheList) {
  ASSERT_EQ(origin("acme 1"), Origin::compiled);
  ASSERT_EQ(origin(""), Origin::compiled);
  std::multiset<std::string> engines;
  auto cache = Cache::open(cache_directory(), {Cache::Access::read_only}).value();
  const auto entries = cache.list().value();
  for (const auto& entry : entries) engines.insert(entry.engine);
  EXPECT_EQ(engines, (std::multiset<std::string>{"", "acme 1"}));
}

}  // namespace
}  // namespace kiln::test
