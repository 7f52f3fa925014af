#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bundle_fixture.h"
#include "kiln/cache.h"
#include "kiln/signing.h"

namespace kiln::test {

inline TrustedKeys trust(const std::vector<SigningKey>& keys) {
  std::string list;
  for (const auto& key : keys) list += key.public_key().text() + ",";
  return TrustedKeys::read(list).value();
}

class Signatures : public CacheBundle {
 protected:
  /// A bundle of these numbers, each signed when it was put.
  fs::path signed_bundle(const std::vector<int>& numbers, const SigningKey& key) const {
    return bundle_of(numbers, {.signing_key = key}, {});
  }

  fs::path bundle_of(const std::vector<int>& numbers, const CacheOptions& options,
                     const ExportOptions& exporting) const {
    static int count = 0;
    const auto name = std::to_string(++count);
    Cache cache = open("of" + name, options);
    for (const int number : numbers) EXPECT_TRUE(cache.put(make_sample(number).entry()));
    const auto bundle = out_ / (name + ".kiln");
    EXPECT_TRUE(cache.export_bundle(bundle, exporting));
    return bundle;
  }

  /// "served", or why not.
  static std::string look(const fs::path& bundle, const TrustedKeys& keys, int number = 1) {
    auto cache = Cache::open_bundle(bundle, {.trusted_keys = keys});
    return cache ? look_in(*cache, number) : cache.error().message;
  }

  static std::string look_in(Cache& cache, int number) {
    const auto sample = make_sample(number);
    MissReason why = MissReason::none;
    const auto found = cache.find(
        sample.request, sample.witness.roots,
        [&](const Candidate& candidate) { return candidate.dependencies == sample.dependencies; },
        &why);
    if (found) return same_artifact(*found, as_found(sample)) ? "served" : "another's image";
    return why == MissReason::untrusted ? "untrusted"
           : why == MissReason::damaged ? "damaged"
                                        : "missed";
  }

  const SigningKey farm_ = SigningKey::generate("farm-1").value();
  const SigningKey next_ = SigningKey::generate("farm-2").value();
  const SigningKey stranger_ = SigningKey::generate("farm-1").value();
};

}  // namespace kiln::test
