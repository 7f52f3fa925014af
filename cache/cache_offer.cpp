#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache_objects.h"
#include "cache_parcel.h"
#include "kiln/caller_state.h"
#include "kiln/exchange.h"
#include "record/frame.h"
#include "record/parcel_codec.h"
#include "rows/entry_reader.h"
#include "rows/proof.h"
#include "signing/signature.h"

namespace kiln {

using storage::Parcel;
using storage::Proof;

namespace {

/// More than a store has of one request, and so few that none of what somebody else wrote there takes long.
constexpr std::size_t most_hints = 64;

// What a store says is followed before anybody has vouched for it: look-up by look-up, on this machine's disk. So no more of it is
// than a program needs.

/// Of a hint's look-ups, decoded. Whatever needs more is read to find out.
constexpr std::uint64_t most_hinted_bytes = std::uint64_t{1} << 20;
constexpr std::size_t most_hinted_lookups = 8'192;
/// The same of an entry's own.
constexpr std::uint64_t most_dependencies_bytes = std::uint64_t{16} << 20;
constexpr std::size_t most_lookups = 65'536;

/// What was asked for, for all its offers.
struct Asked {
  Request request;
  std::string material;
  Digest digest;
};

/// What the proof says of the texts that an entry of a store was made of. Those that are not here are read from the store.
class TextsOfParcel final : public SignedTexts {
 public:
  TextsOfParcel(const Proof& proof, const DependencySet& dependencies, TextSource& stored)
      : proof_(proof), dependencies_(dependencies), stored_(stored) {}

  [[nodiscard]] bool is_source(const std::string& hash) const override {
    return proof_.covers_source(hash);
  }
  [[nodiscard]] bool are_headers(const std::vector<std::string>& hashes) const override {
    return proof_.covers_headers(dependencies_, hashes, stored_.hashes());
  }

 private:
  const Proof& proof_;
  const DependencySet& dependencies_;
  TextSource& stored_;
};

/// Reads its list when a text is first asked for: mostly none is.
class TextsOfList final : public TextSource {
 public:
  TextsOfList(ObjectTexts& texts, std::string list, const DependencySet& dependencies)
      : texts_(texts), list_(std::move(list)), dependencies_(dependencies) {}

  Result<std::optional<storage::PreparedText>> text(const Digest& digest,
                                                    std::vector<Finding>& skipped) override {
    read_list();
    return texts_.text(digest, skipped);
  }
  std::optional<std::string> hash(const Digest& digest) override {
    read_list();
    return texts_.hash(digest);
  }

 private:
  void read_list() {
    if (list_.empty()) return;
    const auto headers = storage::headers_of(dependencies_);
    texts_.add(texts_.read_list(std::exchange(list_, {}), headers.size() + 1, headers));
  }

  ObjectTexts& texts_;
  std::string list_;
  const DependencySet& dependencies_;
};

}  // namespace

class Offer::Impl {
 public:
  Impl(std::shared_ptr<const Asked> asked, TakenHint hint)
      : asked_(std::move(asked)), hint_(std::move(hint)) {}

  [[nodiscard]] std::uint64_t compile_us() const noexcept { return hint_.said.compile_us; }

  [[nodiscard]] bool may_serve(const Accept& accept) const {
    auto needs = read_needs();
    if (!needs) return true;
    return accept({hint_.said.key, hint_.said.needs->toolchain, *needs, nullptr});
  }

  Result<std::optional<OfferedEntry>> fetch(ObjectStore& store, const Accept& accept,
                                            MissReason& why_not) const {
    const auto& hash = hint_.said.object;
    auto record = store.get(name_of(hash), hint_.most_bytes);
    if (!record) return tl::unexpected(std::move(record.error()));
    if (!*record) return std::optional<OfferedEntry>();
    auto parcel = storage::hash_of(**record) == hash ? storage::decode_parcel(**record)
                                                     : std::optional<Parcel>();
    if (!parcel || parcel->key != hint_.said.key || parcel->material != asked_->material) {
      why_not = std::max(why_not, MissReason::damaged);
      return std::optional<OfferedEntry>();
    }
    return take(store, std::move(*parcel), accept, why_not);
  }

 private:
  /// Of what a stranger says nothing is decoded before somebody vouches for it.
  [[nodiscard]] std::optional<DependencySet> read_needs() const {
    const auto& [said, most_bytes, claim] = hint_;
    if (!said.needs) return std::nullopt;
    const auto& [toolchain, frame] = *said.needs;
    if (claim &&
        (toolchain.identity != claim->toolchain || toolchain.text != claim->toolchain_text))
      return std::nullopt;
    if (frame.empty()) return DependencySet();
    const auto size = storage::FrameDecoder::sound_size(frame, storage::dependencies_owner());
    if (!size || *size > most_hinted_bytes) return std::nullopt;
    if (claim && *size != claim->dependencies_bytes) return std::nullopt;
    const auto record = storage::decode_frame(frame, storage::dependencies_owner());
    if (!record || (claim && storage::hash_of(*record) != claim->dependencies)) return std::nullopt;
    auto needs = DependencySet::from_material(*record);
    if (needs && needs->lookups.size() > most_hinted_lookups) return std::nullopt;
    return needs;
  }

  [[nodiscard]] static bool is_of_a_size(const storage::RawEntry& row) {
    const auto sizes = storage::sizes_of(row);
    return sizes.dependencies && *sizes.dependencies <= most_dependencies_bytes && sizes.artifact &&
           *sizes.artifact <= most_object_bytes;
  }

  Result<std::optional<OfferedEntry>> take(ObjectStore& store, Parcel parcel, const Accept& accept,
                                           MissReason& why_not) const {
    const auto none = [] { return std::optional<OfferedEntry>(); };
    auto list = std::exchange(parcel.text_list, {});
    auto row = row_of(std::move(parcel));
    row.compile_us = hint_.said.compile_us;
    if (!is_of_a_size(row)) {
      why_not = std::max(why_not, MissReason::damaged);
      return none();
    }
    const auto& keys = store.trusted_keys();
    const auto proof = keys.empty() ? std::nullopt : Proof::of(row, keys);
    const bool proven =
        proof && (row.kernels_frame.empty() || proof->covers_kernels(row.kernels_frame));
    if (!keys.empty() && !proven) {
      why_not = std::max(why_not, MissReason::untrusted);
      return none();
    }
    storage::ProvenOnly proven_only(proof ? &*proof : nullptr);
    const auto unsound = [&] {
      why_not =
          std::max(why_not, proven_only.refused() ? MissReason::untrusted : MissReason::damaged);
      return none();
    };
    auto identity = storage::identify(row, asked_->digest, std::ref(proven_only));
    if (!identity || identity->dependencies.lookups.size() > most_lookups) return unsound();
    std::vector<Finding> skipped;
    ObjectReader objects(store, skipped);
    ObjectTexts texts(objects);
    TextsOfList stored(texts, std::move(list), identity->dependencies);
    std::optional<TextsOfParcel> signed_texts;
    if (proof) signed_texts.emplace(*proof, identity->dependencies, stored);
    if (!accept({identity->key, identity->toolchain, identity->dependencies, nullptr,
                 signed_texts ? &*signed_texts : nullptr})) {
      why_not = std::max(why_not, MissReason::unfit);
      return none();
    }
    auto artifact = storage::artifact_of(row, *identity, asked_->request, std::ref(proven_only));
    if (!artifact) return unsound();
    artifact->origin = Origin::remote;
    return std::optional(OfferedEntry{std::move(identity->toolchain),
                                      std::move(identity->dependencies), std::move(*artifact)});
  }

  const std::shared_ptr<const Asked> asked_;
  const TakenHint hint_;
};

Result<std::vector<Offer>> Offer::list(ObjectStore& store, const Request& request) {
  const CallerState caller;
  if (auto hashing = storage::prepare_to_hash(); !hashing)
    return tl::unexpected(std::move(hashing.error()));
  auto material = request.material();
  const auto digest = digest_of(material);
  const auto asked = std::make_shared<const Asked>(Asked{request, std::move(material), digest});
  const auto hints = store.hints(digest, most_hints);
  if (!hints) return tl::unexpected(hints.error());
  std::vector<Offer> offers;
  for (const auto& hint : *hints) {
    auto taken = take_hint(hint, store.trusted_keys());
    // Whoever looks a request up is served by what is sound, and leaves the rest to who looks after the store.
    if (!taken || !*taken) continue;
    offers.push_back(Offer(std::make_shared<const Impl>(asked, std::move(**taken))));
  }
  return offers;
}

std::uint64_t Offer::compile_us() const noexcept { return impl_->compile_us(); }

bool Offer::may_serve(const Accept& accept) const {
  const CallerState caller;
  return impl_->may_serve(accept);
}

Result<std::optional<OfferedEntry>> Offer::fetch(ObjectStore& store, const Accept& accept,
                                                 MissReason& why_not) const {
  const CallerState caller;
  return impl_->fetch(store, accept, why_not);
}

}  // namespace kiln
