// Files that an earlier kiln wrote, in tests/cache/files. What a kiln has written, every later one serves.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zstd.h>

#include "kiln/cache.h"
#include "kiln/signing.h"
#include "support.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// The programs of these files are of sm_80 and sm_90.
constexpr std::size_t entries = 2;

class OldFiles : public ::testing::Test {
 protected:
  OldFiles() { fs::create_directories(directory_); }

  static void unpack(const std::string& name, const fs::path& to) {
    const auto packed = test::read_file(fs::path(KILN_CACHE_TEST_FILES) / (name + ".zst"));
    std::string bytes(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
    ASSERT_EQ(ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()),
              bytes.size());
    test::write_file(to, bytes);
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
  }

  static std::size_t served_by(Cache& cache) {
    std::size_t served = 0;
    const auto listed = cache.list().value();
    for (const auto& summary : listed) {
      const auto entry = cache.entry(summary.key).value();
      const auto found = cache.find(entry.request, {}, [](const Candidate&) { return true; });
      served += found && found->kernels.at(0).symbol == "scale" ? 1 : 0;
    }
    return served;
  }

  test::TemporaryFolder folder_;
  const fs::path directory_ = folder_.path() / "cache";
  const fs::path bundle_ = folder_.path() / "before.kiln";
};

TEST_F(OldFiles, ACacheFromBeforeSignaturesServesAndIsWritten) {
  unpack("before_signatures.db", directory_ / "kernels.v1.db");
  fs::permissions(directory_, fs::perms::owner_all);
  auto cache = Cache::open(directory_).value();
  EXPECT_EQ(served_by(cache), entries);
  EXPECT_TRUE(cache.verify(true).value().findings.empty());
  EXPECT_EQ(cache.kernels().value().size(), entries);
  ASSERT_TRUE(cache.put(test::make_sample(1).entry()));
  EXPECT_TRUE(test::find(cache, test::make_sample(1)));
  EXPECT_TRUE(cache.verify(true).value().findings.empty());
}

TEST_F(OldFiles, ACacheFromBeforeSignaturesTakesSignedEntries) {
  unpack("before_signatures.db", directory_ / "kernels.v1.db");
  fs::permissions(directory_, fs::perms::owner_all);
  const auto key = SigningKey::generate("farm-1").value();
  const auto trusted = TrustedKeys::read(key.public_key().text()).value();
  auto cache = Cache::open(directory_, {.trusted_keys = trusted, .signing_key = key}).value();
  EXPECT_EQ(served_by(cache), entries) << "this user's own need no signature";
  ASSERT_TRUE(cache.put(test::make_sample(1).entry()));
  EXPECT_EQ(cache.verify_signatures(trusted).value().findings.size(), entries);
  ASSERT_TRUE(cache.export_bundle(bundle_, {.signing_key = key}));
  auto bundle = Cache::open_bundle(bundle_, {.trusted_keys = trusted}).value();
  EXPECT_EQ(served_by(bundle), entries);
  EXPECT_TRUE(test::find(bundle, test::make_sample(1)));
}

TEST_F(OldFiles, ABundleFromBeforeSignaturesServesWhereNobodyAsksForThem) {
  unpack("before_signatures.kiln", bundle_);
  auto bundle = Cache::open_bundle(bundle_).value();
  EXPECT_EQ(served_by(bundle), entries);
  const auto key = SigningKey::generate("farm-1").value();
  auto asking = Cache::open_bundle(
                    bundle_, {.trusted_keys = TrustedKeys::read(key.public_key().text()).value()})
                    .value();
  EXPECT_EQ(served_by(asking), 0U);
  auto cache = Cache::open(directory_ / "new").value();
  EXPECT_EQ(cache.import(bundle).value().added, entries);
}

// Whoever has not set a key opens what was signed as anything else.
TEST_F(OldFiles, WhatIsSignedServesWhoHasNoKeys) {
  const auto key = SigningKey::generate("farm-1").value();
  ASSERT_TRUE(Cache::open(directory_ / "new", {.signing_key = key})
                  .value()
                  .put(test::make_sample(1).entry()));
  auto cache = Cache::open(directory_ / "new").value();
  EXPECT_TRUE(test::find(cache, test::make_sample(1)));
  ASSERT_TRUE(cache.put(test::make_sample(2).entry()));
  ASSERT_TRUE(cache.export_bundle(bundle_));
  auto bundle = Cache::open_bundle(bundle_).value();
  EXPECT_TRUE(test::find(bundle, test::make_sample(1)));
  EXPECT_TRUE(bundle.verify(true).value().findings.empty());
}

}  // namespace
}  // namespace kiln
