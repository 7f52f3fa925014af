// F7: bombs, false sizes, huge counts and unknown versions, all under right checksums.

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "fault_cache.h"
#include "forge.h"
#include "record/artifact_codec.h"
#include "record/fields.h"
#include "record/frame.h"
#include "record/witness_codec.h"
#include "rows/entry_reader.h"
#include "rule_u.h"
#include "size.h"
#include "support/child.h"
#include "support/sanitized.h"

namespace kiln {
namespace {

using storage::FieldWriter;
using storage::FrameOwner;
using storage::max_raw_bytes;
using storage::Tag;
using test::forge;
using test::FrameWords;
using test::is_sanitized;
using test::make_sample;
using test::RuleU;
using test::Sample;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
// Sanitizers need address space without bound and much time, so under them bombs are small.
constexpr std::size_t largest_bomb = is_sanitized ? 16 * mebibyte : max_raw_bytes;

enum Answer : int { refused, accepted, out_of_memory, threw };

std::size_t address_space_in_use() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

/// Runs `accepts` in a child that may allocate this much and no more.
int answer_within(std::size_t bytes, const std::function<bool()>& accepts) {
  return test::run_in_child([&]() -> int {
    if (!is_sanitized) {
      const rlim_t most = address_space_in_use() + bytes;
      const rlimit limit{most, most};
      if (::setrlimit(RLIMIT_AS, &limit) != 0) return -1;
    }
    try {
      return accepts() ? accepted : refused;
    } catch (const std::bad_alloc&) {
      return out_of_memory;
    } catch (...) {
      // Kept from the test framework, which would run the remaining tests in the child.
      return threw;
    }
  });
}

const Sample sample = make_sample(1);
const FrameOwner owner =
    storage::payload_owner(test::as_found(sample).key, digest_of(sample.request.material()));

struct FrameCase {
  const char* name;
  std::function<std::string()> frame;
  std::size_t memory = 8 * mebibyte;
};

void PrintTo(const FrameCase& c, std::ostream* out) { *out << c.name; }

std::string zeros(std::size_t size) {
  return test::zstd_bomb("", std::string(4096, '\0'), size / 4096, "");
}

std::string forged_zstd(std::uint64_t raw_size, std::string_view stored) {
  return forge({.codec = 1, .raw_size = raw_size, .stored_size = stored.size()}, owner, stored);
}

/// The frame header of a zstd frame with this content size, and nothing behind it.
std::string headless_claim(std::uint64_t size) {
  std::string stored("\x28\xb5\x2f\xfd\xe0", 5);  // magic; 8 bytes of content size, single segment
  for (int i = 0; i < 8; ++i) stored.push_back(static_cast<char>(size >> 8 * i));
  return stored;
}

class FalseFrame : public ::testing::TestWithParam<FrameCase> {};

TEST_P(FalseFrame, IsRefusedInLittleMemory) {
  const std::string frame = GetParam().frame();
  EXPECT_EQ(answer_within(GetParam().memory,
                          [&] { return storage::FrameDecoder().decode(frame, owner).has_value(); }),
            refused);
}

INSTANTIATE_TEST_SUITE_P(
    F7, FalseFrame,
    ::testing::Values(
        FrameCase{"BombThatSaysItIsSmall", [] { return forged_zstd(100, zeros(largest_bomb)); }},
        FrameCase{"BombThatSaysItIsEmpty", [] { return forged_zstd(0, zeros(largest_bomb)); }},
        FrameCase{"BombOverTheLimit",
                  [] {
                    const std::size_t size = max_raw_bytes + 4096;
                    return forged_zstd(size, is_sanitized ? headless_claim(size) : zeros(size));
                  }},
        FrameCase{"ClaimOfAllThereIs",
                  [] { return forged_zstd(UINT64_MAX - 2, headless_claim(UINT64_MAX - 2)); }},
        FrameCase{"ClaimOfNoSizeGiven",
                  [] { return forged_zstd(UINT64_MAX, test::zstd("abc", false)); }},
        FrameCase{"ClaimOfAnError", [] { return forged_zstd(UINT64_MAX - 1, "no zstd at all"); }},
        FrameCase{"ClaimJustOverTheLimit",
                  [] { return forged_zstd(max_raw_bytes + 1, headless_claim(max_raw_bytes + 1)); }},
        FrameCase{"ClaimOfTheLimitWithNothingBehindIt",
                  [] { return forged_zstd(largest_bomb, headless_claim(largest_bomb)); },
                  max_raw_bytes + 8 * mebibyte},
        FrameCase{"SmallClaimWithMoreBehindIt",
                  [] {
                    std::string stored = test::zstd(std::string(200, 'a'));
                    // The content size of a single segment stands behind magic and descriptor.
                    stored[5] = 100;
                    return forged_zstd(100, stored);
                  }},
        FrameCase{"TwoZstdFrames",
                  [] {
                    const std::string one = test::zstd("abcabcabc");
                    return forged_zstd(9, one + one);
                  }},
        FrameCase{
            "SkippableZstdFrame",
            [] { return forged_zstd(0, std::string("\x50\x2a\x4d\x18\xff\xff\xff\xff", 8)); }},
        FrameCase{
            "PlainOfFalseRawSize",
            [] { return forge({.raw_size = max_raw_bytes, .stored_size = 3}, owner, "abc"); }},
        FrameCase{"FalseStoredSize",
                  [] { return forge({.raw_size = 3, .stored_size = UINT64_MAX}, owner, "abc"); }},
        FrameCase{
            "Version0",
            [] { return forge({.version = 0, .raw_size = 3, .stored_size = 3}, owner, "abc"); }},
        FrameCase{
            "Version2",
            [] { return forge({.version = 2, .raw_size = 3, .stored_size = 3}, owner, "abc"); }},
        FrameCase{
            "Version255",
            [] { return forge({.version = 255, .raw_size = 3, .stored_size = 3}, owner, "abc"); }},
        FrameCase{
            "Codec2",
            [] { return forge({.codec = 2, .raw_size = 3, .stored_size = 3}, owner, "abc"); }},
        FrameCase{
            "Codec255",
            [] { return forge({.codec = 255, .raw_size = 3, .stored_size = 3}, owner, "abc"); }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FalseFrames, AreMadeOfSoundOnes) {
  const std::string raw(100'000, 'k');
  EXPECT_TRUE(storage::FrameDecoder().decode(forged_zstd(raw.size(), test::zstd(raw)), owner));
  EXPECT_TRUE(storage::FrameDecoder().decode(forge({.raw_size = 3, .stored_size = 3}, owner, "abc"),
                                             owner));
}

bool accepts_artifact(std::string_view record) {
  return storage::decode_artifact(storage::ImageBuffer(std::string(record))).has_value();
}
bool accepts_request(std::string_view record) { return Request::from_material(record).has_value(); }
bool accepts_dependencies(std::string_view record) {
  return DependencySet::from_material(record).has_value();
}
bool accepts_stamps(std::string_view record) { return storage::decode_stamps(record).has_value(); }

std::string varint(std::uint64_t value) {
  std::string digits;
  for (; value >= 0x80; value >>= 7) digits.push_back(static_cast<char>(value | 0x80));
  digits.push_back(static_cast<char>(value));
  return digits;
}

/// A field that says it is this long.
std::string false_length(Tag tag, std::uint64_t length, std::string_view value) {
  return static_cast<char>(tag) + varint(length) + std::string(value);
}

/// The record with another version: its first field is one byte of tag, one of length, one of digits.
std::string with_version(const std::string& record, std::uint64_t version) {
  const std::string digits = varint(version);
  return record.substr(0, 1) + varint(digits.size()) + digits + record.substr(3);
}

struct RecordKind {
  const char* name;
  bool (*accepts)(std::string_view);
  std::string sound;
};

class FalseRecord : public ::testing::TestWithParam<RecordKind> {
 protected:
  void expect_refused(const std::string& record, const std::string& what) {
    EXPECT_EQ(answer_within(8 * mebibyte, [&] { return GetParam().accepts(record); }), refused)
        << what;
  }
};

TEST_P(FalseRecord, OfAnUnknownVersionIsRefused) {
  const std::string& sound = GetParam().sound;
  ASSERT_TRUE(GetParam().accepts(sound));
  // Behind the tag and the length.
  const auto known = static_cast<unsigned char>(sound.at(2));
  ASSERT_EQ(with_version(sound, known), sound);
  for (const std::uint64_t version :
       {std::uint64_t{0}, std::uint64_t{known} - 1, std::uint64_t{known} + 1,
        std::uint64_t{1} << 32, UINT64_MAX}) {
    expect_refused(with_version(sound, version), "version " + std::to_string(version));
  }
}

TEST_P(FalseRecord, WithAFalseLengthAnywhereIsRefused) {
  const std::string& sound = GetParam().sound;
  for (const std::uint64_t length : {std::uint64_t{1} << 31, std::uint64_t{1} << 32,
                                     std::uint64_t{1} << 62, UINT64_MAX - 1, UINT64_MAX}) {
    for (int tag = 0; tag < 256; ++tag) {
      const std::string field = false_length(static_cast<Tag>(tag), length, "x");
      EXPECT_FALSE(GetParam().accepts(sound + field)) << "tag " << tag << " at the end";
      EXPECT_FALSE(GetParam().accepts(sound.substr(0, 3) + field)) << "tag " << tag;
    }
    expect_refused(sound.substr(0, 3) + false_length(static_cast<Tag>(sound[3]), length, "x"),
                   "length " + std::to_string(length));
  }
}

std::string stamps_record() { return storage::encode_stamps(sample.witness.stamps); }

INSTANTIATE_TEST_SUITE_P(F7, FalseRecord,
                         ::testing::Values(RecordKind{"Artifact", accepts_artifact,
                                                      storage::encode_artifact(sample.artifact)},
                                           RecordKind{"Request", accepts_request,
                                                      sample.request.material()},
                                           RecordKind{"Dependencies", accepts_dependencies,
                                                      sample.dependencies.material()},
                                           RecordKind{"Stamps", accepts_stamps, stamps_record()}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FalseRecords, OfAParentThatIsNoneAreRefused) {
  const auto with_parent = [](std::uint64_t parent) {
    FieldWriter out;
    out.number(Tag::dependencies_version, 2);
    out.bytes(Tag::working_directory, "");
    out.bytes(Tag::spelling, "a.cuh");
    out.number(Tag::parent, parent);
    out.digest(Tag::content, {});
    out.bytes(Tag::path, "");
    return out.take();
  };
  EXPECT_TRUE(accepts_dependencies(with_parent(Dependency::source_parent)));
  EXPECT_TRUE(accepts_dependencies(with_parent(Dependency::at_place)));
  for (const std::uint64_t parent :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xfffffffc}, std::uint64_t{0xffffffff},
        std::uint64_t{1} << 32, UINT64_MAX}) {
    EXPECT_FALSE(accepts_dependencies(with_parent(parent))) << parent;
  }
}

/// How a record goes on with one more of something that it holds many of.
struct Repetition {
  std::string prefix, unit, suffix;
};

/// From the record of none, the record of one, and what follows them in both.
Repetition repetition(const std::string& none, const std::string& one, std::size_t suffix_bytes) {
  const std::size_t at = none.size() - suffix_bytes;
  return {none.substr(0, at), one.substr(at, one.size() - none.size()), none.substr(at)};
}

Repetition many_kernels() {
  Artifact none;
  Artifact one;
  one.kernels.resize(1);
  return repetition(storage::encode_artifact(none), storage::encode_artifact(one), 2);
}

Repetition many_parameters() {
  Artifact none;
  none.kernels.resize(1);
  Artifact one = none;
  one.kernels[0].params.resize(1);
  return repetition(storage::encode_artifact(none), storage::encode_artifact(one), 2);
}

Repetition many_options() {
  Request none;
  Request one;
  one.options.resize(1);
  return repetition(none.material(), one.material(), 7);
}

Repetition many_lookups() {
  DependencySet none;
  DependencySet one;
  one.lookups.resize(1);
  return repetition(none.material(), one.material(), 0);
}

Repetition many_stamps() {
  return repetition(storage::encode_stamps({}), storage::encode_stamps({FileStamp{}}), 0);
}

std::size_t count_for(const Repetition& record, std::size_t bytes) {
  return (bytes - record.prefix.size() - record.suffix.size()) / record.unit.size();
}

std::size_t record_bomb_bytes() {
  return std::min(largest_bomb, test::by_size(128 * mebibyte, std::size_t{max_raw_bytes}));
}

struct BombCase {
  const char* name;
  Repetition (*record)();
  bool (*accepts)(std::string_view);
};

void PrintTo(const BombCase& c, std::ostream* out) { *out << c.name; }

class RecordBomb : public ::testing::TestWithParam<BombCase> {};

// A frame of the smallest parts: what it decodes to must not be many times as large, or 100 KiB of
// database take all memory there is. Room for the record and three times as much beside it.
TEST_P(RecordBomb, TakesBoundedMemory) {
  const Repetition record = GetParam().record();
  const std::size_t count = count_for(record, record_bomb_bytes());
  const std::string stored = test::zstd_bomb(record.prefix, record.unit, count, record.suffix);
  const std::size_t raw = record.prefix.size() + record.unit.size() * count + record.suffix.size();
  const std::string frame = forged_zstd(raw, stored);
  const int answer = answer_within(4 * record_bomb_bytes(), [&] {
    const auto decoded = storage::FrameDecoder().decode(frame, owner);
    return decoded && GetParam().accepts(*decoded);
  });
  EXPECT_NE(answer, out_of_memory)
      << count << " of them in a frame of " << frame.size() << " bytes";
  EXPECT_NE(answer, threw);
  EXPECT_NE(answer, -1) << "a signal";
}

// What is made up above does decode, or nothing was tested.
TEST_P(RecordBomb, IsSoundWhenSmall) {
  const Repetition record = GetParam().record();
  std::string small = record.prefix;
  for (int i = 0; i < 100; ++i) small += record.unit;
  EXPECT_TRUE(GetParam().accepts(small + record.suffix));
}

INSTANTIATE_TEST_SUITE_P(F7, RecordBomb,
                         ::testing::Values(BombCase{"Kernels", many_kernels, accepts_artifact},
                                           BombCase{"Parameters", many_parameters,
                                                    accepts_artifact},
                                           BombCase{"Options", many_options, accepts_request},
                                           BombCase{"Lookups", many_lookups, accepts_dependencies},
                                           BombCase{"Stamps", many_stamps, accepts_stamps}),
                         [](const auto& info) { return std::string(info.param.name); });

class FalsePayload : public ::testing::Test {
 protected:
  /// Puts this frame in the place of the entry's.
  void plant(const std::string& frame) {
    sqlite3* database = nullptr;
    sqlite3_stmt* update = nullptr;
    ASSERT_EQ(sqlite3_open(test::database_of(folder_.path()).c_str(), &database), SQLITE_OK);
    sqlite3_prepare_v2(database, "UPDATE entries SET payload = ?", -1, &update, nullptr);
    sqlite3_bind_blob64(update, 1, frame.data(), frame.size(), SQLITE_STATIC);
    EXPECT_EQ(sqlite3_step(update), SQLITE_DONE);
    sqlite3_finalize(update);
    sqlite3_close(database);
  }

  /// A counted miss, and a cache that works on.
  void expect_counted_miss(const std::string& frame) {
    {
      Cache cache = test::open_to_write(folder_.path()).value();
      ASSERT_TRUE(test::put(cache, sample));
    }
    plant(frame);
    Cache cache = test::open_to_write(folder_.path()).value();
    EXPECT_FALSE(test::find_checked(cache, sample));
    EXPECT_EQ(test::tally_of(cache).misses, 1u);
    EXPECT_EQ(test::tally_of(cache).faults, 1u);
    RuleU::expect_works(cache);
  }

  test::TemporaryFolder folder_;
};

TEST_F(FalsePayload, OfAnUnknownFrameVersionIsACountedMiss) {
  const std::string raw = storage::encode_artifact(sample.artifact);
  expect_counted_miss(
      forge({.version = 2, .raw_size = raw.size(), .stored_size = raw.size()}, owner, raw));
}

TEST_F(FalsePayload, OfAnUnknownRecordVersionIsACountedMiss) {
  const std::string raw = with_version(storage::encode_artifact(sample.artifact), 2);
  expect_counted_miss(forge({.raw_size = raw.size(), .stored_size = raw.size()}, owner, raw));
}

TEST_F(FalsePayload, OfARecordBombDoesNotEndTheProcess) {
  const Repetition record = many_kernels();
  const std::size_t count = count_for(record, record_bomb_bytes());
  const std::size_t raw = record.prefix.size() + record.unit.size() * count + record.suffix.size();
  {
    Cache cache = test::open_to_write(folder_.path()).value();
    ASSERT_TRUE(test::put(cache, sample));
  }
  plant(forged_zstd(raw, test::zstd_bomb(record.prefix, record.unit, count, record.suffix)));
  const int answer = answer_within(4 * record_bomb_bytes(), [&] {
    Cache cache = test::open_to_write(folder_.path()).value();
    return test::find_checked(cache, sample).has_value();
  });
  EXPECT_NE(answer, out_of_memory) << "std::bad_alloc left Cache::find()";
  EXPECT_NE(answer, threw);
  EXPECT_NE(answer, -1) << "a signal";
}

TEST_F(FalsePayload, OfABombIsACountedMiss) {
  expect_counted_miss(forged_zstd(100, zeros(largest_bomb)));
}

}  // namespace
}  // namespace kiln
