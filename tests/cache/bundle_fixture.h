#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln::test {

namespace fs = std::filesystem;

/// Caches of numbered samples, and a folder for the bundles made of them.
class CacheBundle : public ::testing::Test {
 protected:
  CacheBundle() { fs::create_directory(out_); }

  Cache open(const std::string& name, CacheOptions options = {}) const {
    return Cache::open(folder_.path() / name, std::move(options)).value();
  }

  /// A cache with an entry for each of these numbers, put in their order.
  Cache make_cache(const std::string& name, const std::vector<int>& numbers) const {
    Cache cache = open(name);
    for (const int number : numbers) EXPECT_TRUE(cache.put(make_sample(number).entry()));
    return cache;
  }

  fs::path make_bundle(const std::vector<int>& numbers, const ExportOptions& options = {}) const {
    const fs::path bundle = out_ / "made.kiln";
    EXPECT_TRUE(make_cache("made", numbers).export_bundle(bundle, options));
    return bundle;
  }

  void run_sql(const std::string& cache, const std::string& sql) const {
    test::run_sql(folder_.path() / cache / "kernels.v1.db", sql);
  }

  static void expect_serves(Cache& cache, const std::vector<int>& numbers, Origin origin) {
    for (const int number : numbers) {
      const auto artifact = find(cache, make_sample(number));
      ASSERT_TRUE(artifact) << number;
      EXPECT_TRUE(same_artifact(*artifact, as_found(make_sample(number))));
      EXPECT_EQ(artifact->origin, origin);
    }
  }

  static void expect_bundle_serves(const fs::path& file, const std::vector<int>& numbers) {
    auto bundle = Cache::open_bundle(file);
    ASSERT_TRUE(bundle) << bundle.error().message;
    expect_serves(*bundle, numbers, Origin::bundle);
    EXPECT_EQ(bundle->statistics().value().entries, numbers.size());
  }

  std::vector<std::string> names_in_out() const {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(out_)) {
      names.push_back(item.path().filename().string());
    }
    return names;
  }

  TemporaryFolder folder_;
  const fs::path out_ = folder_.path() / "out";
};

}  // namespace kiln::test
