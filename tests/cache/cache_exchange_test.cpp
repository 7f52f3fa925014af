// Entries on their way through a store that nobody believes.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange_fixture.h"
#include "kiln/cache.h"

namespace kiln {
namespace {

using test::Exchange;
using test::hash_in_name;
using test::make_sample;
using test::MemoryStore;
using test::name_of_hash;
using test::object_name;
using test::request_of;
using test::trust;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

// However long it takes: the order of coming is not that of making, by which the newest is told.
TEST_F(Exchange, AllComesAtOneTime) {
  push_from("from", {1, 2});
  auto to = open("to");
  pull_to(to, {}, {.progress = [](std::size_t, std::size_t) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1100));
          }});
  const auto entries = to.list().value();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].created, entries[1].created);
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
    store_.all_hints[request_of(1)][name] = storage::encode_hint({hint.key, hash_in_name(name)});
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
  const auto parcel = storage::decode_parcel(store_.parcel_of(request_of(1))).value();
  auto list = storage::decode_text_list(store_.objects.at(name_of_hash(parcel.text_list))).value();
  std::swap(list[0].object, list[1].object);
  store_.replace_texts(request_of(1), storage::encode_text_list(list));
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
  const std::vector<storage::ListedText> many(10'000, {digest_of("x"), std::string(32, 'x')});
  store_.replace_texts(request_of(1), storage::encode_text_list(many));
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

/// What a store tells, in the order in which it does.
std::vector<StoreEntry> listed(ObjectStore& store) {
  std::vector<StoreEntry> entries;
  const auto listing = list_store(store, [&](const StoreEntry& entry) {
    entries.push_back(entry);
    return true;
  });
  EXPECT_EQ(listing.value().entries, entries.size());
  return entries;
}

TEST_F(Exchange, IsListedAsTheCacheThatItCameFrom) {
  auto from = make_cache("from", {1, 2, 3});
  push(from, *memory(), {.signing_key = farm_}).value();
  const auto all = listed(*memory());
  const auto kept = from.list().value();
  ASSERT_EQ(all.size(), kept.size());
  for (const auto& [entry, object_bytes, signers] : all) {
    const auto same = std::ranges::find(kept, entry.key, &EntrySummary::key);
    ASSERT_NE(same, kept.end());
    EXPECT_EQ(entry.request, same->request);
    EXPECT_EQ(entry.program, same->program);
    EXPECT_EQ(entry.engine, same->engine);
    EXPECT_EQ(entry.arch, same->arch);
    EXPECT_EQ(entry.kind, same->kind);
    EXPECT_EQ(entry.toolchain, same->toolchain);
    EXPECT_EQ(entry.image_bytes, same->image_bytes);
    EXPECT_EQ(entry.stored_bytes, same->stored_bytes);
    EXPECT_EQ(entry.kernels, same->kernels);
    EXPECT_EQ(entry.compile_us, same->compile_us);
    EXPECT_EQ(entry.created, 0);
    EXPECT_EQ(object_bytes, store_.parcel_of(entry.request).size());
    EXPECT_THAT(signers, ElementsAre("farm-1"));
  }
}

TEST_F(Exchange, IsListedAsFarAsAnybodyWantsToKnow) {
  push_from("from", {1, 2, 3});
  std::vector<std::size_t> steps;
  const auto listing = list_store(
      *memory(), [](const StoreEntry&) { return false; },
      [&](std::size_t done, std::size_t total) {
        steps.insert(steps.end(), {done, total});
      });
  EXPECT_EQ(listing.value().entries, 1);
  EXPECT_EQ(listing.value().requests, 1);
  EXPECT_EQ(store_.gets, 1) << "and nothing is read of its texts";
  EXPECT_THAT(steps, ElementsAre(1, 3));
}

TEST_F(Exchange, OnlyWhatIsSignedIsListedWhereKeysAreTrusted) {
  push_from("from", {1}, {.signing_key = farm_});
  push_from("stranger", {2}, {.signing_key = stranger_});
  push_from("nobody", {3});
  MemoryStore trusting(store_, trust({farm_, next_}));
  const auto all = listed(trusting);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].summary.request, request_of(1));
  EXPECT_THAT(all[0].signers, ElementsAre("farm-1"));
  EXPECT_THAT(listed(*memory()), SizeIs(3));
}

TEST_F(Exchange, ALieIsNotListed) {
  push_from("from", {1, 2});
  store_.replace(request_of(1), "something else");
  std::vector<Digest> requests;
  const auto listing = list_store(*memory(), [&](const StoreEntry& entry) {
    requests.push_back(entry.summary.request);
    return true;
  });
  EXPECT_THAT(requests, ElementsAre(request_of(2)));
  ASSERT_THAT(listing.value().skipped, SizeIs(1));
  EXPECT_EQ(listing.value().skipped[0].problem, "is not the entry that the store says it is");
}

}  // namespace
}  // namespace kiln
