// Texts that look alike to XXH3, of which a trusted key has signed one: the other is not served what was made of it.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"
#include "kiln/signing.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

std::string text_of(const std::string& name) {
  return read_file(fs::path(KILN_CACHE_TEST_FILES) / name);
}

class SignedTextsOfLookUps : public CompileFixture {
 protected:
  void SetUp() override {
    CompileFixture::SetUp();
    if (!farm_) GTEST_SKIP() << farm_.error().message;
    ASSERT_TRUE(farm_->write(folder_ / "farm.key").has_value());
    ASSERT_EQ(digest_of(signed_one_), digest_of(alike_));
    ASSERT_NE(signed_one_, alike_);
  }

  /// A bundle of what the farm made of a program.
  fs::path bundle_of(const Program& program) {
    auto farm = options();
    farm.cache_directory = folder_ / "farm";
    farm.signing_key = folder_ / "farm.key";
    EXPECT_TRUE(Runtime::open(farm)->compile(program, "sm_80").has_value());
    const auto bundle = folder_ / "farm.kiln";
    EXPECT_TRUE(Cache::open(*farm.cache_directory)->export_bundle(bundle).has_value());
    return bundle;
  }

  /// Who trusts the farm, and compiles nothing.
  RuntimeOptions trusting(const fs::path& cache) {
    auto user = options();
    user.cache_directory = cache;
    user.trusted_keys = farm_->public_key().text();
    user.mode = Mode::cache_only;
    return user;
  }

  /// "local", "bundle" and so on; why not, where it is not served.
  static std::string origin(const RuntimeOptions& options, const Program& program) {
    const auto artifact = Runtime::open(options)->compile(program, "sm_80");
    return artifact ? to_string(artifact->origin) : artifact.error().message;
  }

  Program program_of(const std::string& source) const {
    return Program::make({.name = "f.cu", .source = source, .kernels = {"f"}}).value();
  }

  /// That includes the text in the folder.
  Program including(const std::string& header) const {
    fs::create_directories(folder_ / "include");
    std::ofstream(folder_ / "include/f.h", std::ios::binary) << header;
    return Program::make({.name = "f.cu",
                          .source = "#include <f.h>\n",
                          .include_dirs = {folder_ / "include"},
                          .kernels = {"f"}})
        .value();
  }

  const Result<SigningKey> farm_ = SigningKey::generate("farm-1");
  const std::string signed_one_ = text_of("alike_1.bin");
  const std::string alike_ = text_of("alike_2.bin");
  const fs::path folder_ = cache_directory().parent_path();
};

constexpr const char* looks_alike = "is not the one that was signed, and only looks alike";

TEST_F(SignedTextsOfLookUps, ASourceThatLooksLikeTheSignedOneIsNotServed) {
  auto user = trusting(folder_ / "user");
  user.bundles = {bundle_of(program_of(signed_one_))};
  EXPECT_EQ(origin(user, program_of(signed_one_)), "bundle");
  EXPECT_THAT(origin(user, program_of(alike_)), HasSubstr(looks_alike));
}

TEST_F(SignedTextsOfLookUps, NorIsAHeader) {
  auto user = trusting(folder_ / "user");
  user.bundles = {bundle_of(including(signed_one_))};
  EXPECT_EQ(origin(user, including(signed_one_)), "bundle");
  EXPECT_THAT(origin(user, including(alike_)), HasSubstr(looks_alike));
}

TEST_F(SignedTextsOfLookUps, NorAreTheyAfterAnImport) {
  for (const bool header : {false, true}) {
    const auto program = [&](const std::string& text) {
      return header ? including(text) : program_of(text);
    };
    const auto user = trusting(folder_ / (header ? "header" : "source"));
    const auto keys = TrustedKeys::read(*user.trusted_keys).value();
    auto from = Cache::open_bundle(bundle_of(program(signed_one_)), {.trusted_keys = keys}).value();
    ASSERT_EQ(Cache::open(*user.cache_directory)->import(from)->added, header ? 2U : 1U);
    // The second time the headers are known by their looks.
    EXPECT_EQ(origin(user, program(signed_one_)), "local");
    EXPECT_EQ(origin(user, program(signed_one_)), "local");
    EXPECT_THAT(origin(user, program(alike_)), HasSubstr(looks_alike));
  }
}

// Where nothing but the signed text beside the entry stands for a header.
TEST_F(SignedTextsOfLookUps, AHeaderThatIsNotHereIsTrustedAsItWasSigned) {
  auto user = trusting(folder_ / "user");
  user.bundles = {bundle_of(including(signed_one_))};
  const auto program = including(signed_one_);
  fs::remove(folder_ / "include/f.h");
  EXPECT_EQ(origin(user, program), "bundle");
}

// What this user compiled is nobody's to sign.
TEST_F(SignedTextsOfLookUps, AnEntryOfOnesOwnNeedsNoSignature) {
  auto user = trusting(folder_ / "user");
  user.mode = Mode::jit;
  EXPECT_EQ(origin(user, program_of(signed_one_)), "compiled");
  EXPECT_EQ(origin(user, program_of(signed_one_)), "local");
}

}  // namespace
}  // namespace kiln::test
