// What is tampered with is not served, and not decoded.

#include "rows/proof.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "record/artifact_codec.h"
#include "rows/entry_reader.h"
#include "rows/entry_writer.h"
#include "signing/signature.h"
#include "support.h"

namespace kiln::storage {
namespace {

using test::make_sample;
using test::Sample;

TrustedKeys trust(const SigningKey& key) {
  return TrustedKeys::read(key.public_key().text()).value();
}

RawEntry row_of(const PreparedEntry& entry) {
  return {.key = entry.key,
          .toolchain = entry.toolchain,
          .dependencies_id = 1,
          .compile_us = entry.compile_us,
          .material = entry.material,
          .payload = ImageBuffer::copy_of(entry.payload, entry.image_bytes),
          .toolchain_text = entry.toolchain_text,
          .image_bytes = entry.image_bytes,
          .dependencies_frame = entry.dependencies_frame,
          .kernels_frame = entry.kernels_frame,
          .signatures = entry.signatures};
}

/// As a look-up goes: what would be served, and whether anything was decoded that nobody trusted signed.
struct Served {
  std::optional<Artifact> artifact;
  std::optional<DependencySet> dependencies;
};

class Proofs : public ::testing::Test {
 protected:
  Proofs() {
    for (int number = 0; number < 4; ++number) {
      samples_.push_back(make_sample(number));
      for (const auto& key : {farm_, stranger_}) {
        auto prepared = prepare(samples_.back().entry(), {}, Images::compressed, key);
        (key.public_key() == farm_.public_key() ? rows_ : strangers_)
            .push_back(std::move(prepared.value()));
      }
    }
  }

  [[nodiscard]] Served serve(const PreparedEntry& entry, const Sample& wanted) const {
    auto row = row_of(entry);
    Served served;
    const auto material = wanted.request.material();
    const auto digest = digest_of(material);
    if (match_material(row.material, material, digest) != MaterialMatch::same) return served;
    const auto proof = Proof::of(row, trusted_);
    if (!proof) return served;
    ProvenOnly proven_only(&*proof);
    auto identity = identify(row, digest, std::ref(proven_only));
    if (!identity) return served;
    served.dependencies = identity->dependencies;
    served.artifact = artifact_of(row, *identity, wanted.request, std::ref(proven_only));
    return served;
  }

  /// Whether nothing is served but what was signed.
  [[nodiscard]] ::testing::AssertionResult holds(const PreparedEntry& row, const Sample& wanted,
                                                 bool unchanged = false) const {
    const auto served = serve(row, wanted);
    if (served.dependencies && *served.dependencies != wanted.dependencies)
      return ::testing::AssertionFailure() << "decoded what was not signed";
    if (!served.artifact) {
      return unchanged ? ::testing::AssertionFailure() << "not served"
                       : ::testing::AssertionSuccess();
    }
    return test::same_artifact(*served.artifact, test::as_found(wanted))
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << "served what was not signed";
  }

  const SigningKey farm_ = SigningKey::generate("farm-1").value();
  const SigningKey stranger_ = SigningKey::generate("farm-1").value();
  const TrustedKeys trusted_ = trust(farm_);
  std::vector<Sample> samples_;
  std::vector<PreparedEntry> rows_;
  std::vector<PreparedEntry> strangers_;
};

std::vector<std::string PreparedEntry::*> texts_of_rows() {
  return {&PreparedEntry::material, &PreparedEntry::payload, &PreparedEntry::toolchain_text,
          &PreparedEntry::dependencies_frame};
}

/// Of another compiler, and nothing but signed.
PreparedEntry bare(const PreparedEntry& entry) {
  PreparedEntry row;
  row.key = entry.key;
  row.toolchain = digest_of("another");
  row.signatures = entry.signatures;
  return row;
}

/// A bit flipped, a piece cut off, put in or written over.
void tamper(std::string& bytes, std::mt19937& random) {
  const auto at = bytes.empty() ? 0 : random() % bytes.size();
  switch (random() % 4) {
    case 0:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes.insert(at, 1 + random() % 8, static_cast<char>(random()));
      break;
    default:
      for (auto place = at; place < std::min(bytes.size(), at + 8); ++place)
        bytes[place] = static_cast<char>(random());
  }
}

TEST_F(Proofs, WhatIsSignedServes) {
  for (std::size_t at = 0; at < rows_.size(); ++at)
    EXPECT_TRUE(holds(rows_[at], samples_[at], true)) << at;
}

TEST_F(Proofs, WhatAStrangerSignedServesNot) {
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    EXPECT_FALSE(serve(strangers_[at], samples_[at]).dependencies);
    auto mixed = strangers_[at];
    mixed.signatures.push_back(rows_[(at + 1) % rows_.size()].signatures[0]);
    EXPECT_FALSE(serve(mixed, samples_[at]).dependencies) << "of another request";
  }
}

// Each field of one entry in the place of another's, under each request.
TEST_F(Proofs, AnothersFieldsAreNotTaken) {
  for (std::size_t to = 0; to < rows_.size(); ++to) {
    for (const auto* from : {&rows_, &strangers_}) {
      for (std::size_t other = 0; other < from->size(); ++other) {
        for (auto field : texts_of_rows()) {
          auto row = rows_[to];
          row.*field = (*from)[other].*field;
          for (const auto& wanted : samples_) EXPECT_TRUE(holds(row, wanted));
        }
        auto row = rows_[to];
        row.signatures = (*from)[other].signatures;
        for (const auto& wanted : samples_) EXPECT_TRUE(holds(row, wanted));
        row = rows_[to];
        row.key = (*from)[other].key;
        for (const auto& wanted : samples_) EXPECT_TRUE(holds(row, wanted));
      }
    }
  }
}

// An image that is sound by its checksum, of the same request, and another than was signed.
TEST_F(Proofs, AnImageThatIsSoundAndNotSignedServesNot) {
  auto other = samples_[0];
  other.artifact.image = test::random_bytes(600, 77);
  auto row = prepare(other.entry(), {}, Images::plain, {}).value();
  EXPECT_FALSE(Proof::of(row_of(row), trusted_));
  row.signatures = rows_[0].signatures;
  ASSERT_TRUE(Proof::of(row_of(row), trusted_));
  EXPECT_FALSE(serve(row, samples_[0]).artifact);
  EXPECT_TRUE(serve(row, samples_[0]).dependencies);

  other = samples_[0];
  other.artifact.kernels[0].symbol = "another";
  row = prepare(other.entry(), {}, Images::plain, {}).value();
  row.signatures = rows_[0].signatures;
  EXPECT_FALSE(serve(row, samples_[0]).artifact) << "lowered names are signed, too";

  other = samples_[0];
  other.dependencies.lookups[0].content = digest_of("another header");
  row = prepare(other.entry(), {}, Images::plain, {}).value();
  row.signatures = rows_[0].signatures;
  EXPECT_FALSE(serve(row, samples_[0]).dependencies);

  other = samples_[0];
  row = prepare(other.entry(), {}, Images::plain, {}).value();
  row.signatures = rows_[0].signatures;
  EXPECT_TRUE(holds(row, samples_[0], true)) << "how it is stored does not matter";
}

// XXH3 finds damage and no malice: two texts of one digest are told apart.
TEST_F(Proofs, TextsAreComparedByWhatNobodyCanForge) {
  Contents contents;
  const auto proof = Proof::of(row_of(rows_[0]), trusted_).value();
  ASSERT_TRUE(prepare_again(row_of(rows_[0]), {}, &contents));
  std::map<Digest, std::string> texts{{digest_of(samples_[0].source), samples_[0].source}};
  for (const auto& header : samples_[0].headers) texts[digest_of(header)] = header;
  const HashOfText hash = [&](const Digest& digest) {
    return texts.contains(digest) ? std::optional(hash_of(texts[digest])) : std::nullopt;
  };
  EXPECT_TRUE(proof.covers_texts(contents, hash));
  for (auto& [digest, text] : texts) {
    const auto before = std::exchange(text, text + "// of the same digest, as it were");
    EXPECT_FALSE(proof.covers_texts(contents, hash));
    text = before;
  }
  texts.erase(texts.begin());
  EXPECT_FALSE(proof.covers_texts(contents, hash));
}

class Tampering : public Proofs, public ::testing::WithParamInterface<unsigned> {};

// 100,000 in all.
TEST_P(Tampering, IsNeverServed) {
  constexpr int tries = 12'500;
  std::mt19937 random(GetParam());
  int served = 0;
  for (int number = 0; number < tries; ++number) {
    const auto at = random() % rows_.size();
    auto row = rows_[at];
    for (auto changes = 1 + random() % 2; changes > 0; --changes) {
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          tamper(row.signatures[0], random);
          break;
        case 3:
          row.signatures = {strangers_[random() % rows_.size()].signatures[0]};
          break;
        case 4:
          row.signatures = {rows_[random() % rows_.size()].signatures[0]};
          break;
        case 5:
          row = bare(row);
          break;
        default:
          tamper(row.*texts_of_rows()[random() % texts_of_rows().size()], random);
      }
    }
    const auto& wanted = samples_[random() % 4 == 0 ? random() % samples_.size() : at];
    ASSERT_TRUE(holds(row, wanted)) << "try " << number;
    served += serve(row, wanted).artifact ? 1 : 0;
  }
  // Those to which nothing was done in the end.
  EXPECT_LT(served, tries / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Tampering, ::testing::Range(0U, 8U));

}  // namespace
}  // namespace kiln::storage
