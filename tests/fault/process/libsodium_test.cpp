// Whoever sets no key pays nothing for signatures.

#include <string>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "kiln/signing.h"
#include "processes.h"

namespace kiln {
namespace {

bool is_mapped() {
  return test::read_file("/proc/self/maps").find("libsodium") != std::string::npos;
}

TEST(Libsodium, IsMappedWhereAKeyIsSetAndNowhereElse) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(test::holds_in_child([&] {
    auto cache = Cache::open(folder.path() / "cache").value();
    EXPECT_TRUE(test::serves(cache, test::make_sample(1)));
    EXPECT_TRUE(cache.export_bundle(folder.path() / "b.kiln"));
    auto bundle = Cache::open_bundle(folder.path() / "b.kiln").value();
    EXPECT_TRUE(test::find(bundle, test::make_sample(1)));
    EXPECT_TRUE(Cache::open(folder.path() / "other").value().import(bundle));
    EXPECT_TRUE(cache.verify(true));
    EXPECT_FALSE(is_mapped());
    EXPECT_TRUE(SigningKey::generate("farm-1"));
    EXPECT_TRUE(is_mapped());
  }));
}

}  // namespace
}  // namespace kiln
