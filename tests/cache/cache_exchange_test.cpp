// Entries on their way through a store that nobody believes.

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "kiln/exchange.h"
#include "record/parcel_codec.h"
#include "signatures_fixture.h"
#include "signing/signature.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using test::trust;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string name_of_hash(const std::string& hash) {
  std::string name;
  for (const unsigned char byte : hash) {
    name += "0123456789abcdef"[byte / 16];
    name += "0123456789abcdef"[byte % 16];
  }
  return name;
}

std::string object_name(std::string_view bytes) { return name_of_hash(storage::hash_of(bytes)); }

std::string hash_in_name(const std::string& name) {
  std::string hash;
  for (std::size_t at = 0; at < name.size(); at += 2)
    hash += static_cast<char>(std::stoi(name.substr(at, 2), nullptr, 16));
  return hash;
}

/// What lies in a store, for a test to lie about.
struct Contents {
  /// Puts another object in the place of the one that a hint names, under its right name, and gives that.
  std::string replace(const Digest& request, const std::string& bytes) {
    auto& hints = all_hints[request];
    auto hint = storage::decode_hint(hints.begin()->second).value();
    const auto name = object_name(bytes);
    hint.object = hash_in_name(name);
    objects[name] = bytes;
    hints = {{name, storage::encode_hint(hint)}};
    return name;
  }

  [[nodiscard]] std::string parcel_of(const Digest& request) const {
    return objects.at(all_hints.at(request).begin()->first);
  }

  std::map<std::string, std::string> objects;
  std::map<Digest, std::map<std::string, std::string>> all_hints;
  int gets = 0;
  std::size_t junk_bytes = 0;  ///< What it gives for every object, where it is set.
};

/// Holds it in memory.
class MemoryStore final : public ObjectStore {
 public:
  explicit MemoryStore(Contents& contents, TrustedKeys keys = {})
      : ObjectStore(std::move(keys)), contents_(contents) {}

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    ++contents_.gets;
    if (contents_.junk_bytes != 0) return std::optional(std::string(contents_.junk_bytes, 'x'));
    const auto at = contents_.objects.find(name);
    if (at == contents_.objects.end()) return std::optional<std::string>();
    if (at->second.size() <= most_bytes) return std::optional(at->second);
    return tl::unexpected(Error{ErrorCode::too_large, "too large"});
  }
  Result<bool> put(const std::string& name, std::string_view bytes) override {
    return contents_.objects.emplace(name, bytes).second;
  }
  Result<std::vector<std::string>> hints(const Digest& request) override {
    std::vector<std::string> names;
    for (const auto& [name, hint] : contents_.all_hints[request]) names.push_back(name);
    return names;
  }
  Result<std::optional<std::string>> hint(const Digest& request, const std::string& name) override {
    return std::optional(contents_.all_hints[request][name]);
  }
  Result<void> add_hint(const Digest& request, const std::string& name,
                        std::string_view hint) override {
    contents_.all_hints[request][name] = hint;
    return {};
  }
  Result<std::vector<Digest>> requests() override {
    std::vector<Digest> requests;
    for (const auto& [request, hints] : contents_.all_hints) requests.push_back(request);
    return requests;
  }
  Result<GcReport> collect(const GcOptions&) override { return GcReport(); }

 private:
  Contents& contents_;
};

Digest request_of(int number) { return digest_of(make_sample(number).request.material()); }

class Exchange : public test::Signatures {
 protected:
  PushReport push_from(const std::string& cache, const std::vector<int>& numbers,
                       const PushOptions& options = {}) {
    auto from = make_cache(cache, numbers);
    MemoryStore store(store_);
    return push(from, store, options).value();
  }

  PullReport pull_to(Cache& cache, const TrustedKeys& keys = {}, const PullOptions& options = {}) {
    return pull_from(store_, cache, keys, options);
  }

  static PullReport pull_from(Contents& contents, Cache& cache, const TrustedKeys& keys,
                              const PullOptions& options = {}) {
    MemoryStore store(contents, keys);
    return pull(store, cache, options).value();
  }

  [[nodiscard]] std::unique_ptr<ObjectStore> memory() {
    return std::make_unique<MemoryStore>(store_);
  }

  Contents store_;
};

TEST_F(Exchange, GivesWhatWasPut) {
  const auto pushed = push_from("from", {1, 2, 3});
  EXPECT_EQ(pushed.added, 3);
  EXPECT_THAT(pushed.skipped, IsEmpty());
  auto to = open("to");
  const auto pulled = pull_to(to);
  EXPECT_EQ(pulled.added, 3);
  EXPECT_EQ(pulled.missing, 0);
  EXPECT_EQ(pulled.bytes, pushed.bytes);
  EXPECT_THAT(pulled.skipped, IsEmpty());
  expect_serves(to, {1, 2, 3}, Origin::local);
  EXPECT_EQ(to.text(digest_of(make_sample(1).source)).value(), make_sample(1).source);
  EXPECT_THAT(to.verify(true).value().findings, IsEmpty());
}

TEST_F(Exchange, TextsAndEntriesThatAreThereAreNotPutAgain) {
  push_from("from", {1, 2});
  const auto objects = store_.objects;
  // Source, two headers, their list, two entries.
  EXPECT_THAT(objects, SizeIs(6));
  const auto again = push_from("other", {1, 2});
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.present, 2);
  EXPECT_EQ(again.bytes, 0);
  EXPECT_EQ(store_.objects, objects);
}

TEST_F(Exchange, WhatIsHereIsNotReadAgain) {
  push_from("from", {1, 2});
  auto to = open("to");
  pull_to(to);
  store_.gets = 0;
  const auto again = pull_to(to);
  EXPECT_EQ(again.present, 2);
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(store_.gets, 0);
}

TEST_F(Exchange, CarriesOnlyWhatWasAskedFor) {
  auto from = make_cache("from", {1, 2, 3});
  std::vector<Digest> keys;
  const auto entries = from.list().value();
  for (const auto& entry : entries)
    if (entry.request != request_of(2)) keys.push_back(entry.key);
  EXPECT_EQ(push(from, *memory(), {.keys = keys}).value().added, 2);
  auto to = open("to");
  const auto pulled = pull_to(to, {}, {.requests = {{request_of(1), request_of(2)}}});
  EXPECT_EQ(pulled.added, 1);
  EXPECT_EQ(pulled.missing, 1);
  expect_serves(to, {1}, Origin::local);
}

TEST_F(Exchange, TellsHowFarItIs) {
  std::vector<std::pair<std::size_t, std::size_t>> told;
  const auto tell = [&](std::size_t done, std::size_t total) { told.emplace_back(done, total); };
  push_from("from", {1, 2}, {.progress = tell});
  auto to = open("to");
  pull_to(to, {}, {.progress = tell});
  const std::vector<std::pair<std::size_t, std::size_t>> twice{{1, 2}, {2, 2}, {1, 2}, {2, 2}};
  EXPECT_EQ(told, twice);
}

TEST_F(Exchange, LeavesSourcesOutWhereAsked) {
  push_from("from", {1}, {.without_sources = true});
  EXPECT_THAT(store_.objects, SizeIs(1));
  auto to = open("to");
  EXPECT_EQ(pull_to(to).added, 1);
  expect_serves(to, {1}, Origin::local);
  EXPECT_FALSE(to.text(digest_of(make_sample(1).source)));
}

TEST_F(Exchange, ObjectsMayGoAtAnyTime) {
  push_from("from", {1});
  const auto all = store_.objects;
  for (const auto& [gone, bytes] : all) {
    store_.objects = all;
    store_.objects.erase(gone);
    auto to = open("without" + gone);
    const auto pulled = pull_to(to);
    EXPECT_EQ(pulled.added + pulled.missing, 1);
    if (pulled.added == 1) expect_serves(to, {1}, Origin::local);
  }
}

TEST_F(Exchange, OfARequestTheFirstSixteenCome) {
  const auto sample = make_sample(1);
  auto from = open("from");
  for (int number = 0; number < 20; ++number) {
    auto other = sample;
    other.toolchain.identity = digest_of("compiler " + std::to_string(number));
    EXPECT_TRUE(from.put(other.entry()));
  }
  EXPECT_EQ(push(from, *memory()).value().added, 20);
  auto to = open("to");
  EXPECT_EQ(pull_to(to).added, 16);
}

TEST_F(Exchange, SignedEntriesServeWhereKeysAreTrusted) {
  const auto pushed = push_from("from", {1, 2}, {.signing_key = farm_});
  EXPECT_EQ(pushed.signed_entries, 2);
  auto to = open("to");
  const auto pulled = pull_to(to, trust({farm_}));
  EXPECT_EQ(pulled.added, 2);
  EXPECT_THAT(pulled.skipped, IsEmpty());
  expect_serves(to, {1, 2}, Origin::local);
  EXPECT_EQ(to.verify_signatures(trust({farm_})).value().signers.at("farm-1"), 2);
  EXPECT_TRUE(to.text(digest_of(make_sample(1).headers.at(0))));
}

TEST_F(Exchange, NothingElseComesWhereKeysAreTrusted) {
  push_from("from", {1});
  push_from("stranger", {2}, {.signing_key = stranger_});
  auto to = open("to");
  const auto pulled = pull_to(to, trust({farm_}));
  EXPECT_EQ(pulled.added, 0);
  EXPECT_EQ(pulled.missing, 2);
  EXPECT_EQ(store_.gets, 0);
  EXPECT_THAT(to.list().value(), IsEmpty());
}

TEST_F(Exchange, UnsignedHintsStandInNobodysWay) {
  push_from("from", {1}, {.signing_key = farm_});
  const auto hint =
      storage::decode_hint(store_.all_hints.at(request_of(1)).begin()->second).value();
  for (int number = 0; number < 40; ++number) {
    const auto name = "00" + object_name(std::to_string(number)).substr(2);
    store_.all_hints[request_of(1)][name] =
        storage::encode_hint({hint.key, hash_in_name(name), {}});
  }
  auto to = open("to");
  EXPECT_EQ(pull_to(to, trust({farm_})).added, 1);
}

// A signature of another entry, in a hint and in a parcel.
TEST_F(Exchange, ASignatureCountsForItsOwnEntryAlone) {
  push_from("from", {1, 2}, {.signing_key = farm_});
  auto forged = storage::decode_parcel(store_.parcel_of(request_of(1))).value();
  const auto other = storage::decode_parcel(store_.parcel_of(request_of(2))).value();
  forged.signatures = other.signatures;
  store_.replace(request_of(1), storage::encode_parcel(forged));
  auto to = open("to");
  const auto pulled = pull_to(to, trust({farm_}));
  EXPECT_EQ(pulled.added, 1);
  EXPECT_THAT(pulled.skipped, SizeIs(1));
  EXPECT_EQ(look_in(to, 1), "missed");
  EXPECT_EQ(look_in(to, 2), "served");
}

// One entry under the request of another.
TEST_F(Exchange, AnEntryAnswersItsOwnRequestAlone) {
  push_from("from", {1, 2}, {.signing_key = farm_});
  store_.replace(request_of(1), store_.parcel_of(request_of(2)));
  auto to = open("to");
  const auto pulled = pull_to(to, {}, {.requests = {{request_of(1)}}});
  EXPECT_EQ(pulled.added, 0);
  ASSERT_THAT(pulled.skipped, SizeIs(1));
  EXPECT_THAT(pulled.skipped[0].problem, HasSubstr("is not the entry"));
}

TEST_F(Exchange, AnObjectIsWhatItIsNamedBy) {
  push_from("from", {1});
  auto& parcel = store_.objects.at(store_.all_hints.at(request_of(1)).begin()->first);
  parcel.back() ^= 1;
  auto to = open("to");
  const auto pulled = pull_to(to);
  EXPECT_EQ(pulled.added, 0);
  ASSERT_THAT(pulled.skipped, SizeIs(1));
  EXPECT_EQ(pulled.skipped[0].what, "object");
  EXPECT_THAT(pulled.skipped[0].problem, HasSubstr("damaged"));
}

// A bit of each byte of a parcel changed, and each beginning of it, under its right name. What names the list of texts, at the
// end, may be lost like the texts themselves; it is compared with what was signed when it is there.
TEST_F(Exchange, NothingTamperedWithIsTaken) {
  push_from("from", {1}, {.signing_key = farm_});
  const auto parcel = store_.parcel_of(request_of(1));
  const auto keys = trust({farm_});
  auto to = open("to");
  std::size_t refused = 0;
  const auto attempt = [&](const std::string& tampered) {
    auto store = store_;
    store.replace(request_of(1), tampered);
    const auto pulled = pull_from(store, to, keys);
    refused += pulled.skipped.size();
    return pulled.added;
  };
  constexpr std::size_t name_of_list = 34;
  const auto signed_part = parcel.size() - name_of_list;
  std::minstd_rand random(1);
  for (std::size_t at = 0; at < signed_part; ++at) {
    auto tampered = parcel;
    tampered[at] = static_cast<char>(tampered[at] ^ (1U << (random() % 8)));
    ASSERT_EQ(attempt(tampered), 0) << at;
    ASSERT_EQ(attempt(parcel.substr(0, at)), 0) << at;
  }
  EXPECT_GE(refused, 2 * signed_part);
  EXPECT_THAT(to.list().value(), IsEmpty());
  EXPECT_EQ(attempt(parcel.substr(0, signed_part)), 1);
  EXPECT_EQ(look_in(to, 1), "served");
  EXPECT_FALSE(to.text(digest_of(make_sample(1).source)));
}

// Another header of the same digest cannot be made here; another header under the digest can.
TEST_F(Exchange, TextsComeAsTheyWereSignedOrNotAtAll) {
  push_from("from", {1}, {.signing_key = farm_});
  auto parcel = storage::decode_parcel(store_.parcel_of(request_of(1))).value();
  auto list = storage::decode_text_list(store_.objects.at(name_of_hash(parcel.text_list))).value();
  std::swap(list[0].object, list[1].object);
  const auto swapped = storage::encode_text_list(list);
  parcel.text_list = storage::hash_of(swapped);
  store_.objects[object_name(swapped)] = swapped;
  store_.replace(request_of(1), storage::encode_parcel(parcel));
  auto to = open("to");
  const auto pulled = pull_to(to, trust({farm_}));
  EXPECT_EQ(pulled.added, 1);
  EXPECT_FALSE(to.text(digest_of(make_sample(1).headers.at(0))));
  EXPECT_FALSE(to.text(digest_of(make_sample(1).headers.at(1))));
  EXPECT_EQ(look_in(to, 1), "served");
}

// A header that is only asked for is nobody's word: what lies under its digest in a store may be anything.
TEST_F(Exchange, OnlyTextsThatWereSignedCome) {
  auto sample = make_sample(1);
  sample.dependencies.lookups.at(1).reach = Dependency::Reach::presence;
  auto from = open("from");
  ASSERT_TRUE(from.put(sample.entry()));
  ASSERT_TRUE(push(from, *memory(), {.signing_key = farm_}));
  auto to = open("to");
  EXPECT_EQ(pull_to(to, trust({farm_})).added, 1);
  EXPECT_TRUE(to.text(digest_of(sample.source)));
  EXPECT_FALSE(to.text(sample.dependencies.lookups.at(1).content));
  EXPECT_THAT(to.verify(true).value().findings, IsEmpty());
  const auto bundle = out_ / "signed.kiln";
  ASSERT_TRUE(from.export_bundle(bundle, {.signing_key = farm_}));
  auto shipped = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  auto imported = open("imported");
  EXPECT_EQ(imported.import(shipped).value().added, 1);
  EXPECT_TRUE(imported.text(digest_of(sample.source)));
  EXPECT_FALSE(imported.text(sample.dependencies.lookups.at(1).content));
  auto unsigned_one = open("unsigned one");
  EXPECT_EQ(pull_to(unsigned_one).added, 1);
  EXPECT_TRUE(unsigned_one.text(sample.dependencies.lookups.at(1).content));
}

TEST_F(Exchange, AHintOfAnotherRequestAnswersNothing) {
  push_from("from", {1, 2}, {.signing_key = farm_});
  auto to = open("to");
  pull_to(to);
  store_.all_hints[request_of(2)] = store_.all_hints[request_of(1)];
  const auto pulled = pull_to(to, trust({farm_}), {.requests = {{request_of(2)}}});
  EXPECT_EQ(pulled.present, 0);
  EXPECT_EQ(pulled.missing, 1);
}

// What is long is not read: a list of more texts than the entry has, an object of more bytes than were signed.
TEST_F(Exchange, LengthsAreThoseOfWhatWasSigned) {
  push_from("from", {1}, {.signing_key = farm_});
  auto parcel = storage::decode_parcel(store_.parcel_of(request_of(1))).value();
  std::vector<storage::ListedText> many(10'000, {digest_of("x"), std::string(32, 'x')});
  const auto list = storage::encode_text_list(many);
  parcel.text_list = storage::hash_of(list);
  store_.objects[object_name(list)] = list;
  store_.replace(request_of(1), storage::encode_parcel(parcel));
  auto to = open("to");
  const auto pulled = pull_to(to, trust({farm_}));
  EXPECT_EQ(pulled.added, 1);
  ASSERT_THAT(pulled.skipped, SizeIs(1));
  EXPECT_EQ(pulled.skipped[0].problem, "too large");
  const auto large = store_.parcel_of(request_of(1)) + std::string(17 << 20, 'x');
  store_.replace(request_of(1), large);
  auto other = open("other");
  EXPECT_THAT(pull_to(other, trust({farm_})).skipped, SizeIs(1));
}

TEST_F(Exchange, AStoreThatGivesNothingIsGivenUp) {
  push_from("from", {1});
  auto hint = storage::decode_hint(store_.all_hints.at(request_of(1)).begin()->second).value();
  store_.all_hints.clear();
  for (const auto* const name : {"a", "b", "c", "d", "e", "f"}) {
    hint.object = hash_in_name(object_name(name));
    store_.all_hints[request_of(1)][object_name(name)] = storage::encode_hint(hint);
  }
  store_.junk_bytes = std::size_t{250} << 20;
  auto to = open("to");
  const auto pulled = pull(*memory(), to);
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, ErrorCode::cache_unusable);
  EXPECT_THAT(pulled.error().message, HasSubstr("given up"));
  EXPECT_LT(store_.gets, 6);
}

TEST_F(Exchange, BundlesOfStrangersArePushedWithTheirSignaturesAlone) {
  const auto bundle = signed_bundle({1, 2}, farm_);
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  EXPECT_EQ(push(from, *memory()).value().added, 2);
  auto unsigned_ones = make_bundle({3});
  auto refused = Cache::open_bundle(unsigned_ones, {.trusted_keys = trust({farm_})}).value();
  EXPECT_EQ(push(refused, *memory()).value().added, 0);
  auto to = open("to");
  EXPECT_EQ(pull_to(to, trust({farm_})).added, 2);
}

class FileStore : public Exchange {
 protected:
  FileStore() { fs::create_directory(root_); }

  std::unique_ptr<ObjectStore> open_store(FileStoreOptions options = {.create = true}) const {
    return open_file_store(root_, options).value();
  }

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& item : fs::recursive_directory_iterator(root_))
      if (item.is_regular_file()) files.push_back(item.path());
    return files;
  }

  const fs::path root_ = folder_.path() / "store";
};

TEST_F(FileStore, GivesWhatWasPut) {
  auto from = make_cache("from", {1, 2, 3});
  EXPECT_EQ(push(from, *open_store()).value().added, 3);
  auto to = open("to");
  const auto pulled = pull(*open_store({}), to).value();
  EXPECT_EQ(pulled.added, 3);
  EXPECT_THAT(pulled.skipped, IsEmpty());
  expect_serves(to, {1, 2, 3}, Origin::local);
  EXPECT_EQ(push(from, *open_store()).value().present, 3);
}

TEST_F(FileStore, SaysThatThereIsNone) {
  const auto none = open_file_store(root_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr(root_.string()));
  EXPECT_THAT(none.error().message, HasSubstr("kiln push"));
  const auto nowhere = open_file_store(root_ / "not" / "there", {.create = true});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::not_found);
  EXPECT_THAT(nowhere.error().message, HasSubstr((root_ / "not" / "there").string()));
}

TEST_F(FileStore, FoldersTakeTheRightsOfTheirs) {
  for (const auto& [mode, umask] : {std::pair{0755, 077}, std::pair{02770, 022}}) {
    fs::remove_all(root_);
    fs::create_directory(root_);
    ASSERT_EQ(::chmod(root_.c_str(), mode), 0);
    auto from = open("from" + std::to_string(mode));
    EXPECT_TRUE(from.put(make_sample(1).entry()));
    const auto before = ::umask(umask);
    EXPECT_TRUE(push(from, *open_store()));
    ::umask(before);
    for (const auto& item : fs::recursive_directory_iterator(root_)) {
      EXPECT_EQ(test::mode_of(item.path()), item.is_directory() ? mode : 0644) << item.path();
    }
  }
}

TEST_F(FileStore, SaysWhereItCannotWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is somebody else when it wants";
  open_store();
  fs::permissions(folder_.path(), fs::perms(0755));
  const auto said = test::run_as({}, [&] {
    auto from = Cache::open(fs::path("/tmp") / ("kiln-exchange-" + std::to_string(::getpid())));
    if (!from || !from->put(make_sample(1).entry())) return std::string("no cache");
    const auto pushed = push(*from, *open_store());
    fs::remove_all(from->file().parent_path());
    return pushed ? std::string("pushed") : pushed.error().message;
  });
  EXPECT_THAT(said, HasSubstr((root_ / "kiln-store.v1" / "objects").string()));
  EXPECT_THAT(said, HasSubstr("give the user the right to it"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FileStore, KeepsTheStickyBit) {
  ASSERT_EQ(::chmod(root_.c_str(), 01777), 0);
  open_store();
  EXPECT_EQ(test::mode_of(root_ / "kiln-store.v1" / "objects"), 01777);
}

TEST_F(FileStore, UsersPushBesideEachOther) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is somebody else when it wants";
  fs::permissions(folder_.path(), fs::perms(0755));
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  const auto outcomes = test::run_processes(4, [&](int process) {
    const unsigned user = 2000U + static_cast<unsigned>(process) % 2;
    const auto said = test::run_as({user, user, process < 2 ? 077U : 022U}, [&] {
      const auto place = fs::path("/tmp") / ("kiln-exchange-" + std::to_string(::getpid()));
      auto from = Cache::open(place);
      for (int number = 0; from && number < 10; ++number)
        if (!from->put(make_sample(number).entry())) return std::string("not put");
      std::string outcome = from ? "pushed" : from.error().message;
      for (int round = 0; outcome == "pushed" && round < 5; ++round) {
        const auto store = open_file_store(root_ / std::to_string(round), {.create = true});
        const auto pushed = store ? push(*from, **store) : tl::unexpected(store.error());
        if (!pushed) outcome = pushed.error().message;
      }
      fs::remove_all(place);
      return outcome;
    });
    if (said != "pushed") std::fprintf(stderr, "%s\n", said.c_str());
    return said == "pushed" ? 0 : 1;
  });
  EXPECT_THAT(outcomes, Each(0));
}

// Who pushes need not trust who pushed before.
TEST_F(FileStore, ReplacesWhatItWouldNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) ASSERT_EQ(::chown(file.c_str(), test::nobody, test::nobody), 0);
  EXPECT_EQ(push(from, *open_store()).value().added, 1);
  auto to = open("to");
  EXPECT_EQ(pull(*open_store(), to).value().added, 1);
}

TEST_F(FileStore, MendsWhatIsDamaged) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) test::write_file(file, std::string(fs::file_size(file), '\0'));
  EXPECT_EQ(push(from, *open_store()).value().added, 1);
  auto to = open("to");
  EXPECT_EQ(pull(*open_store(), to).value().added, 1);
  expect_serves(to, {1}, Origin::local);
}

TEST_F(FileStore, ManyHintsStandInNobodysWay) {
  auto from = make_cache("from", {1});
  push(from, *open_store(), {.signing_key = farm_}).value();
  const auto request = request_of(1);
  for (int number = 0; number < 200; ++number) {
    const auto name = object_name(std::to_string(number));
    const auto hint = storage::encode_hint({digest_of("k"), hash_in_name(name), {}});
    ASSERT_TRUE(open_store()->add_hint(request, name, hint));
  }
  auto to = open("to");
  EXPECT_EQ(pull(*open_store({.trusted_keys = trust({farm_})}), to).value().added, 1);
}

// Nothing outside is read, listed or removed.
TEST_F(FileStore, FollowsNoLinkedFolder) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  const auto outside = folder_.path() / "outside";
  const auto objects = root_ / "kiln-store.v1" / "objects";
  fs::create_directory(outside);
  const auto blob = outside / ("ab" + std::string(62, '0'));
  test::write_file(blob, "another's");
  fs::remove_all(objects / "ab");
  fs::create_directory_symlink(outside, objects / "ab");
  EXPECT_TRUE(open_store()->collect({.max_bytes = 0}));
  EXPECT_TRUE(fs::exists(blob));
  EXPECT_FALSE(open_store()->get("ab" + std::string(62, '0'), 100));
  EXPECT_FALSE(open_store()->put("ab" + std::string(62, '1'), "x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), fs::directory_iterator()), 1);
}

TEST_F(FileStore, OneOddNameSpoilsNothing) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  fs::create_directory(root_ / "kiln-store.v1" / "requests" / "00");
  test::write_file(root_ / "kiln-store.v1" / "requests" / "00" / std::string(32, '0'), "");
  auto to = open("to");
  const auto pulled = pull(*open_store(), to).value();
  EXPECT_EQ(pulled.added, 1);
  EXPECT_THAT(pulled.skipped, SizeIs(1));
}

TEST_F(FileStore, HalfAStoreIsNone) {
  open_store();
  fs::remove_all(root_ / "kiln-store.v1" / "objects");
  EXPECT_FALSE(open_file_store(root_));
}

TEST_F(FileStore, MendsWhatIsOfAnotherSize) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) fs::resize_file(file, 3);
  auto to = open("to");
  EXPECT_EQ(pull(*open_store(), to).value().added, 0);
  EXPECT_EQ(push(from, *open_store()).value().added, 1);
  EXPECT_EQ(pull(*open_store(), to).value().added, 1);
  expect_serves(to, {1}, Origin::local);
}

TEST_F(FileStore, FollowsNoLinksAndReadsOnlyFiles) {
  auto from = make_cache("from", {1});
  push(from, *open_store(), {.signing_key = farm_}).value();
  const auto secret = folder_.path() / "secret";
  test::write_file(secret, "secret");
  const auto replace = [&](std::string_view where, const auto& make) {
    for (const auto& file : files()) {
      if (file.string().find(where) == std::string::npos) continue;
      fs::remove(file);
      make(file);
    }
  };
  const auto pull_both_ways = [&](std::size_t refused) {
    auto to = open("to");
    for (const auto& keys : {TrustedKeys(), trust({farm_})}) {
      const auto pulled = pull(*open_store({.trusted_keys = keys}), to).value();
      EXPECT_EQ(pulled.missing, 1);
      EXPECT_THAT(pulled.skipped, SizeIs(refused));
    }
  };
  replace("objects", [](const fs::path& file) { ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0); });
  pull_both_ways(1);
  replace("requests", [&](const fs::path& file) { fs::create_symlink(secret, file); });
  pull_both_ways(0);
}

TEST_F(FileStore, OnlyFilesOfTrustedOwnersComeWithoutKeys) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  auto from = make_cache("from", {1});
  push(from, *open_store(), {.signing_key = farm_}).value();
  for (const auto& file : files()) ASSERT_EQ(::chown(file.c_str(), test::nobody, test::nobody), 0);
  auto to = open("to");
  const auto refused = pull(*open_store(), to).value();
  EXPECT_EQ(refused.added, 0);
  ASSERT_THAT(refused.skipped, SizeIs(1));
  EXPECT_THAT(refused.skipped[0].problem, HasSubstr("belongs to user 65534"));
  EXPECT_THAT(refused.skipped[0].problem, HasSubstr("KILN_CACHE_TRUST_OWNERS"));
  // Whose they are is all the same where keys are trusted.
  const auto keys = trust({farm_});
  EXPECT_EQ(pull(*open_store({.trusted_keys = keys}), to).value().added, 1);
  auto other = open("other");
  EXPECT_EQ(pull(*open_store({.trust = {.owners = {test::nobody}}}), other).value().added, 1);
}

// As long ago as the test says.
void set_used(const fs::path& file, std::chrono::hours ago) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - ago);
}

TEST_F(FileStore, CollectsWhatWasNotUsedForLongest) {
  auto from = make_cache("from", {1, 2});
  const auto store = open_store();
  push(from, *store).value();
  for (const auto& file : files()) set_used(file, std::chrono::hours(24 * 40));
  // Marks the one entry and its texts as used again.
  const auto entries = from.list().value();
  const auto kept = entries[0].request == request_of(1) ? entries[0].key : entries[1].key;
  push(from, *store, {.keys = {{kept}}}).value();
  const auto before = files().size();
  const GcOptions of_a_month{.older_than = std::chrono::hours(24 * 30)};
  auto only_told = of_a_month;
  only_told.dry_run = true;
  EXPECT_EQ(store->collect(only_told).value().entries, 1);
  EXPECT_EQ(files().size(), before);
  const auto removed = store->collect(of_a_month).value();
  EXPECT_EQ(removed.entries, 1);
  EXPECT_GT(removed.bytes, 0);
  EXPECT_EQ(files().size(), before - 2) << "its hint has gone too";
  auto to = open("to");
  const auto pulled = pull(*store, to).value();
  EXPECT_EQ(pulled.added, 1);
  EXPECT_EQ(pulled.missing, 1);
  EXPECT_THAT(pulled.skipped, IsEmpty());
  expect_serves(to, {1}, Origin::local);
}

TEST_F(FileStore, CollectsDownToASize) {
  auto from = make_cache("from", {1, 2, 3});
  const auto store = open_store();
  const auto pushed = push(from, *store).value();
  EXPECT_EQ(store->collect({.max_bytes = pushed.bytes}).value().entries, 0);
  const auto removed = store->collect({.max_bytes = pushed.bytes - 1}).value();
  EXPECT_EQ(removed.entries, 1);
  EXPECT_EQ(store->collect({.max_bytes = 0}).value().bytes, pushed.bytes - removed.bytes);
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_EQ(push(from, *store).value().added, 3);
}

TEST_F(FileStore, WhatIsReadIsUsed) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) set_used(file, std::chrono::hours(24 * 40));
  auto to = open("to");
  pull(*open_store(), to).value();
  EXPECT_EQ(open_store()->collect({.older_than = std::chrono::hours(24)}).value().entries, 0);
}

TEST_F(FileStore, WhatAWriterLeftBehindGoesAfterAnHour) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  const auto object = fs::directory_iterator(root_ / "kiln-store.v1" / "objects")->path();
  for (const auto* const name : {".1.kiln-tmp", ".2.kiln-tmp"})
    test::write_file(object / name, "left behind");
  set_used(object / ".1.kiln-tmp", std::chrono::hours(2));
  EXPECT_EQ(open_store()->collect({.older_than = std::chrono::hours(24)}).value().entries, 0);
  EXPECT_FALSE(fs::exists(object / ".1.kiln-tmp"));
  EXPECT_TRUE(fs::exists(object / ".2.kiln-tmp"));
}

TEST_F(FileStore, ManyPushAndPullAtATime) {
  const auto outcomes = test::run_processes(6, [&](int process) {
    auto cache = open("cache" + std::to_string(process));
    for (int number = 0; number < 20; ++number)
      if (!cache.put(make_sample(number).entry())) return 1;
    if (!push(cache, *open_store())) return 2;
    auto to = open("to" + std::to_string(process));
    const auto pulled = pull(*open_store(), to);
    if (!pulled || pulled->added != 20 || !pulled->skipped.empty()) return 3;
    return 0;
  });
  EXPECT_THAT(outcomes, Each(0));
}

}  // namespace
}  // namespace kiln
