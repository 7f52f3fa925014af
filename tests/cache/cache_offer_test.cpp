// What a store offers for one request, asked for by who needs it now: Offer of kiln/exchange.h.

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../fault/size.h"
#include "exchange_fixture.h"
#include "kiln/exchange.h"
#include "record/frame.h"
#include "record/parcel_codec.h"

namespace kiln::test {
namespace {

class Offers : public Exchange {
 protected:
  /// What a look-up for this number gets; `why` tells where it gets nothing.
  std::optional<OfferedEntry> fetch(int number, const TrustedKeys& keys, MissReason& why) {
    MemoryStore store(store_, keys);
    const auto sample = make_sample(number);
    const auto offers = Offer::list(store, sample.request).value();
    for (const auto& offer : offers) {
      const auto accept = [&](const Candidate& candidate) {
        return candidate.dependencies == sample.dependencies &&
               candidate.toolchain.identity == sample.toolchain.identity;
      };
      if (!offer.may_serve(accept)) continue;
      if (auto entry = offer.fetch(store, accept, why).value()) return entry;
    }
    return std::nullopt;
  }

  std::string look_at(int number, const TrustedKeys& keys = {}) {
    MissReason why = MissReason::none;
    const auto entry = fetch(number, keys, why);
    if (!entry) {
      return why == MissReason::untrusted ? "untrusted"
             : why == MissReason::damaged ? "damaged"
                                          : "missed";
    }
    auto expected = as_found(make_sample(number));
    return same_artifact(entry->artifact, expected) ? "served" : "another's image";
  }
};

TEST_F(Offers, ServeWhatWasPushed) {
  push_from("from", {1, 2}, {.signing_key = farm_});
  EXPECT_EQ(look_at(1), "served");
  EXPECT_EQ(look_at(2, trust({farm_})), "served");
  EXPECT_EQ(look_at(3), "missed");
  MissReason why = MissReason::none;
  const auto entry = fetch(1, {}, why);
  EXPECT_EQ(entry->artifact.origin, Origin::remote);
  EXPECT_EQ(entry->artifact.compile_us, make_sample(1).artifact.compile_us)
      << "so that what it saves is known";
}

// Each of two compilers' entries says which one it needs: that of the other is not even read.
TEST_F(Offers, WhatCannotServeIsNotRead) {
  auto from = open("from");
  auto other = make_sample(1);
  other.toolchain.identity = digest_of("another compiler");
  ASSERT_TRUE(from.put(make_sample(1).entry()));
  ASSERT_TRUE(from.put(other.entry()));
  ASSERT_EQ(push(from, *memory()).value().added, 2);
  EXPECT_EQ(look_at(1), "served");
  EXPECT_EQ(store_.gets, 1);
}

TEST_F(Offers, NothingUnsignedIsReadWhereKeysAreTrusted) {
  push_from("from", {1});
  push_from("stranger", {1}, {.signing_key = stranger_});
  EXPECT_EQ(look_at(1, trust({farm_})), "missed");
  EXPECT_EQ(store_.gets, 0);
}

// The hint is signed, and what it leads to is not.
TEST_F(Offers, AParcelHasToBeSignedItself) {
  push_from("from", {1, 2}, {.signing_key = farm_});
  auto parcel = storage::decode_parcel(store_.parcel_of(request_of(1))).value();
  parcel.signatures.clear();
  store_.replace(request_of(1), storage::encode_parcel(parcel));
  EXPECT_EQ(look_at(1, trust({farm_})), "untrusted");
  EXPECT_EQ(look_at(1), "served") << "where nobody asks for signatures";
}

TEST_F(Offers, AKeyThatIsTrustedNoLongerServesNothing) {
  push_from("from", {1}, {.signing_key = farm_});
  EXPECT_EQ(look_at(1, trust({farm_, next_})), "served");
  EXPECT_EQ(look_at(1, trust({next_})), "missed");
}

/// Hints that say what nobody has made.
class HostileHints : public Offers {
 protected:
  /// Says of the only hint of request 1 what `lie` makes of it.
  void lie(const std::function<void(storage::ParcelHint&)>& lie) {
    auto& [name, record] = *store_.all_hints[request_of(1)].begin();
    auto hint = storage::decode_hint(record).value();
    lie(hint);
    record = storage::encode_hint(hint);
  }

  /// Whether what it says that it needs is followed before the entry is read.
  bool is_followed(const DependencySet& needs) {
    lie([&](storage::ParcelHint& hint) {
      hint.needs->dependencies_frame = storage::FrameEncoder().encode(
          needs.material(), {storage::FrameOwner::Table::dependency_sets});
    });
    MemoryStore store(store_);
    const auto offers = Offer::list(store, make_sample(1).request).value();
    bool is_asked = false;
    EXPECT_TRUE(offers.at(0).may_serve([&](const Candidate&) { return is_asked = true; }));
    return is_asked;
  }

  static DependencySet needs_of(std::size_t look_ups) {
    return {.lookups = std::vector<Dependency>(look_ups, {.spelling = "a.h"})};
  }
};

// A frame of some kilobytes may hold as much as a disk takes minutes to look up, or memory has no room for.
TEST_F(HostileHints, NeedsOfNoProgramAreNotFollowed) {
  push_from("from", {1});
  EXPECT_TRUE(is_followed(needs_of(8'000)));
  EXPECT_FALSE(is_followed(needs_of(9'000)));
  EXPECT_FALSE(is_followed({.lookups = {{.spelling = std::string(2 << 20, 'x')}}}));
}

TEST_F(HostileHints, AnEntryThatNeedsMoreThanAnyProgramIsDamaged) {
  auto from = open("from");
  auto sample = make_sample(1);
  sample.witness = {};
  sample.dependencies = needs_of(70'000);
  sample.headers.clear();
  ASSERT_TRUE(from.put(sample.entry()));
  MemoryStore store(store_);
  ASSERT_EQ(push(from, store).value().added, 1);
  MissReason why = MissReason::none;
  const auto offers = Offer::list(store, sample.request).value();
  EXPECT_FALSE(offers.at(0)
                   .fetch(
                       store, [](const Candidate&) { return true; }, why)
                   .value());
  EXPECT_EQ(why, MissReason::damaged);
}

TEST_F(HostileHints, OneThatIsLongerThanAnyIsLeftOut) {
  push_from("from", {1});
  lie([](storage::ParcelHint& hint) { hint.needs->toolchain.text.assign(70'000, 'x'); });
  EXPECT_EQ(look_at(1), "missed");
}

TEST_F(HostileHints, NoCompileTookAnAge) {
  push_from("from", {1});
  lie([](storage::ParcelHint& hint) { hint.compile_us = ~std::uint64_t{0}; });
  MemoryStore store(store_);
  EXPECT_EQ(Offer::list(store, make_sample(1).request).value().at(0).compile_us(), 3'600'000'000);
}

// Each check of a signature takes as long as ten look-ups.
TEST_F(HostileHints, OnlySomeSignaturesAreChecked) {
  push_from("from", {1}, {.signing_key = farm_});
  const auto sound = store_.all_hints;
  const auto forged = [](std::string signature) {
    signature.back() ^= 1;
    return signature;
  };
  lie([&](storage::ParcelHint& hint) {
    hint.signatures.insert(hint.signatures.begin(), 3, forged(hint.signatures[0]));
  });
  EXPECT_EQ(look_at(1, trust({farm_})), "served");
  store_.all_hints = sound;
  lie([&](storage::ParcelHint& hint) {
    hint.signatures.insert(hint.signatures.begin(), 4, forged(hint.signatures[0]));
  });
  EXPECT_EQ(look_at(1, trust({farm_})), "missed");
  push_from("other", {1}, {.signing_key = next_});
  auto hints = store_.all_hints[request_of(1)];
  hints.erase(sound.at(request_of(1)).begin()->first);
  const auto others = storage::decode_hint(hints.begin()->second);
  store_.all_hints = sound;
  lie([&](storage::ParcelHint& hint) {
    hint.signatures.insert(hint.signatures.begin(), 14, others->signatures.at(0));
  });
  EXPECT_EQ(look_at(1, trust({farm_})), "served") << "what others say that they signed costs none";
}

// Objects go at any time, and hints are left of them.
TEST_F(HostileHints, WhatIsGoneDoesNotStandInTheWay) {
  push_from("from", {1});
  auto& hints = store_.all_hints[request_of(1)];
  auto gone = storage::decode_hint(hints.begin()->second).value();
  for (char digit = 'a'; digit < 'a' + 20; ++digit) {
    gone.object = std::string(31, '\0') + digit;
    hints[name_of_hash(gone.object)] = storage::encode_hint(gone);
  }
  EXPECT_EQ(look_at(1), "served");
}

/// Changes something, in any of the ways that somebody has who may write the store.
class Tampering {
 public:
  Tampering(std::string parcel, std::string other, unsigned seed)
      : parcel_(std::move(parcel)), other_(std::move(other)), random_(seed) {}

  /// Never as it was.
  std::string next() {
    for (;;) {
      auto tampered = one();
      if (tampered != parcel_ && !differs_in_list_alone(tampered)) return tampered;
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  std::string one() {
    auto bytes = parcel_;
    switch (below(7)) {
      case 0:  // bits
        for (auto count = 1 + below(4); count > 0; --count)
          bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8));
        return bytes;
      case 1:
        return bytes.substr(0, below(bytes.size()));
      case 2:
        return bytes.insert(below(bytes.size()),
                            std::string(1 + below(9), static_cast<char>(random_())));
      case 3: {  // a piece of another entry
        const auto at = below(std::min(bytes.size(), other_.size()));
        const auto size = below(std::min(bytes.size(), other_.size()) - at);
        return bytes.replace(at, size, other_.substr(at, size));
      }
      default:
        return of_fields();
    }
  }

  /// A whole field of another entry, or none.
  std::string of_fields() {
    auto parcel = storage::decode_parcel(parcel_).value();
    const auto other = storage::decode_parcel(other_).value();
    switch (below(9)) {
      case 0:
        parcel.key = other.key;
        break;
      case 1:
        parcel.material = other.material;
        break;
      case 2:
        parcel.toolchain.identity = digest_of(std::to_string(random_()));
        break;
      case 3:
        parcel.toolchain.text += 'x';
        break;
      case 4:
        parcel.dependencies_frame = below(2) != 0 ? other.dependencies_frame : std::string();
        break;
      case 5:
        parcel.payload = other.payload;
        break;
      case 6:
        parcel.signatures = other.signatures;
        break;
      case 7:
        parcel.signatures.at(0)[below(parcel.signatures.at(0).size())] ^=
            static_cast<char>(1U << below(8));
        break;
      default:
        parcel.signatures.clear();
    }
    return storage::encode_parcel(parcel);
  }

  /// Its texts may be lost or added: they are compared with what was signed when they are needed.
  bool differs_in_list_alone(const std::string& tampered) const {
    auto parcel = storage::decode_parcel(tampered);
    auto own = storage::decode_parcel(parcel_).value();
    if (!parcel) return false;
    parcel->text_list = own.text_list;
    // What nobody vouches for beside the farm's signature does no harm either.
    return storage::encode_parcel(*parcel) == parcel_ ||
           (parcel->signatures.size() > own.signatures.size() && parcel->payload == own.payload);
  }

  const std::string parcel_;
  const std::string other_;
  std::minstd_rand random_;
};

TEST_F(Offers, NothingTamperedWithIsServed) {
  push_from("from", {1, 2}, {.signing_key = farm_});
  const auto keys = trust({farm_});
  const auto parcel = store_.parcel_of(request_of(1));
  Tampering tampering(parcel, store_.parcel_of(request_of(2)), 1);
  const int attempts = by_size(4'000, 100'000);
  int untrusted = 0;
  int damaged = 0;
  for (int at = 0; at < attempts; ++at) {
    const auto name = store_.replace(request_of(1), tampering.next());
    const auto looked = look_at(1, keys);
    ASSERT_TRUE(looked == "untrusted" || looked == "damaged") << at << ": " << looked;
    ++(looked == "untrusted" ? untrusted : damaged);
    store_.objects.erase(name);
  }
  EXPECT_GT(untrusted, attempts / 10);
  EXPECT_GT(damaged, attempts / 10);
  store_.replace(request_of(1), parcel);
  EXPECT_EQ(look_at(1, keys), "served");
}

}  // namespace
}  // namespace kiln::test
