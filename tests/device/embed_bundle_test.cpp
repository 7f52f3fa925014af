#include <cstdint>

#include <engine/test/another_bundle.h>
#include <engine/test/bundle.h>
#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

void expect_like_file(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  const std::string text = read_file(file);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), text);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 16, 0U);
}

std::string log_of_the_entry(std::span<const std::byte> bytes) {
  auto bundle = Cache::open_bundle(bytes).value();
  const auto entries = bundle.list().value();
  EXPECT_EQ(entries.size(), 1U);
  return bundle.entry(entries.at(0).key).value().artifact.log;
}

TEST(EmbedBundle, BytesAreThoseOfTheFile) {
  expect_like_file(engine::test::bundle(), BUNDLE_FOLDER "/the bundle.kiln");
  expect_like_file(engine::test::another_bundle(), BUNDLE_FOLDER "/another.kiln");
}

TEST(EmbedBundle, ServesFromTheProgramItself) {
  EXPECT_EQ(log_of_the_entry(engine::test::bundle()), "the log");
  EXPECT_EQ(log_of_the_entry(engine::test::another_bundle()), "another log");
}

}  // namespace
}  // namespace kiln::test
