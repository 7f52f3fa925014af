// F23: a bundle that a stranger made or changed, where keys are trusted: nothing of it serves but what one of them signed.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fault_cache.h"
#include "kiln/cache.h"
#include "kiln/signing.h"
#include "size.h"

namespace kiln {
namespace {

using test::make_sample;
using test::Sample;

constexpr std::size_t bytes_of_a_page = 4096;

class ForeignFile : public ::testing::TestWithParam<unsigned> {
 protected:
  static std::string bundle_by(const SigningKey& key, const std::vector<Sample>& samples) {
    const test::TemporaryFolder folder;
    Cache cache = Cache::open(folder.path() / "cache", {.signing_key = key}).value();
    for (const auto& sample : samples) EXPECT_TRUE(cache.put(sample.entry()));
    EXPECT_TRUE(cache.export_bundle(folder.path() / "b.kiln"));
    return test::read_file(folder.path() / "b.kiln");
  }

  /// The same requests as the farm's, with images of his own.
  static std::vector<Sample> strangers_samples(std::vector<Sample> samples) {
    for (std::size_t at = 0; at < samples.size(); ++at)
      samples[at].artifact.image = test::random_bytes(600, 1000 + static_cast<unsigned>(at));
    return samples;
  }

  /// How many of the samples it serves. What it serves, and what it asks about, is as the farm signed it.
  int look_at(const std::filesystem::path& file) {
    auto bundle = Cache::open_bundle(file, {.trusted_keys = trusted_});
    if (!bundle) return 0;
    int served = 0;
    for (const auto& sample : samples_) {
      const auto accept = [&](const Candidate& candidate) {
        EXPECT_TRUE(candidate.dependencies == sample.dependencies);
        EXPECT_TRUE(candidate.toolchain.identity == sample.toolchain.identity &&
                    candidate.toolchain.text == sample.toolchain.text);
        EXPECT_EQ(candidate.witness, nullptr);
        return true;
      };
      const auto found = bundle->find(sample.request, sample.witness.roots, accept);
      EXPECT_TRUE(!found || test::same_artifact(*found, test::as_found(sample)));
      served += found ? 1 : 0;
    }
    return served;
  }

  /// Takes it into a cache and serves it from there.
  void import_from(const std::filesystem::path& file) {
    auto bundle = Cache::open_bundle(file, {.trusted_keys = trusted_});
    if (!bundle) return;
    const test::TemporaryFolder folder;
    auto cache = Cache::open(folder.path() / "cache").value();
    static_cast<void>(cache.import(*bundle));
    for (const auto& sample : samples_) {
      const auto found = test::find_checked(cache, sample);
      EXPECT_TRUE(!found || test::same_artifact(*found, test::as_found(sample)));
    }
  }

  const SigningKey farm_ = SigningKey::generate("farm-1").value();
  const TrustedKeys trusted_ = TrustedKeys::read(farm_.public_key().text()).value();
  const std::vector<Sample> samples_{make_sample(1), make_sample(2, 9'000), make_sample(3)};
  const std::string sound_ = bundle_by(farm_, samples_);
  const std::string strangers_ =
      bundle_by(SigningKey::generate("farm-1").value(), strangers_samples(samples_));
  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "b.kiln";
};

std::string_view page_of(const std::string& bytes, std::size_t number) {
  return std::string_view(bytes).substr(number * bytes_of_a_page % bytes.size(), bytes_of_a_page);
}

/// Bits flipped, bytes written over, pages exchanged, taken from another file or cut off.
void change(std::string& bytes, const std::string& other, std::mt19937& random) {
  const auto at = random() % bytes.size();
  const auto pages = bytes.size() / bytes_of_a_page;
  const auto page = random() % pages * bytes_of_a_page;
  switch (random() % 5) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 1:
      for (auto place = at; place < std::min(bytes.size(), at + 1 + random() % 16); ++place)
        bytes[place] = static_cast<char>(random());
      break;
    case 2:
      bytes.replace(page, bytes_of_a_page, std::string(page_of(bytes, random() % pages)));
      break;
    case 3:
      bytes.replace(page, bytes_of_a_page, page_of(other, page / bytes_of_a_page));
      break;
    default:
      if (random() % 8 == 0) bytes.resize(std::max(bytes_of_a_page, at));
  }
}

// 10,000 in all.
TEST_P(ForeignFile, ServesNothingUnsignedHoweverItIsChanged) {
  std::mt19937 random(GetParam());
  int served = 0;
  constexpr int files = 2'500;
  for (int number = 0; number < files && !HasFailure(); ++number) {
    std::string bytes = random() % 4 == 0 ? strangers_ : sound_;
    for (auto changes = 1 + random() % 6; changes > 0; --changes)
      change(bytes, random() % 2 == 0 ? strangers_ : sound_, random);
    test::write_file(file_, bytes);
    served += look_at(file_);
    if (number % 10 == 0) import_from(file_);
  }
  EXPECT_GT(served, files / 4) << "too little is left to be served";
}

TEST_P(ForeignFile, ServesNothingUnsignedWhileItIsRewritten) {
  test::write_file(file_, sound_);
  ASSERT_EQ(look_at(file_), 3);
  std::atomic<bool> done = false;
  std::thread stranger([&] {
    std::mt19937 random(GetParam());
    const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC);
    while (!done) {
      std::string bytes = random() % 2 == 0 ? sound_ : strangers_;
      if (random() % 4 == 0) change(bytes, strangers_, random);
      const auto from = random() % 3 == 0 ? 0 : random() % bytes.size();
      const auto written =
          ::pwrite(descriptor, bytes.data() + from, bytes.size() - from, static_cast<off_t>(from));
      if (random() % 16 == 0 &&
          ::ftruncate(descriptor, static_cast<off_t>(random() % bytes.size())) != 0)
        break;
      EXPECT_GE(written, 0);
    }
    ::close(descriptor);
  });
  int served = 0;
  int looks = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(test::by_size(2, 30));
  for (; std::chrono::steady_clock::now() < end && !HasFailure(); ++looks) {
    served += look_at(file_);
    if (looks % 10 == 0) import_from(file_);
  }
  done = true;
  stranger.join();
  std::cout << served << " served in " << looks << " looks\n";
}

INSTANTIATE_TEST_SUITE_P(Seeds, ForeignFile, ::testing::Range(0U, 4U));

}  // namespace
}  // namespace kiln
