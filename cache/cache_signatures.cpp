#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "record/signature_codec.h"
#include "rows/entry_reader.h"
#include "rows/proof.h"
#include "rows/signature_list.h"
#include "rows/signed_row.h"

namespace kiln {

namespace {

/// An entry that was seen may have gone by now: it has no signatures then.
Result<std::vector<std::string>> signatures_of(Cache::Impl& cache, const Digest& key) {
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  auto signatures = storage::read_signatures(hold.connection(), key, {});
  if (!signatures) return hold.failure("reading signatures");
  return std::move(*signatures);
}

tl::unexpected<Error> nobody_signed(const Digest& key) {
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("others may have written the entry {}, and no trusted key has signed it as "
                  "it is (KILN_TRUSTED_KEYS)",
                  key.hex()));
}

Result<storage::RawEntry> signed_row_of(Cache::Impl& cache, const Digest& key) {
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  storage::Statement found(hold.connection(), "SELECT id FROM entries WHERE key = ?", key);
  const auto there = found.next();
  if (there == false) return no_entry(key);
  auto row = there ? storage::read_signed_row(hold.connection(), found.integer(0), key,
                                              cache.options.trusted_keys)
                   : std::nullopt;
  if (!row) return hold.failure("reading an entry");
  if (!row->key) return no_entry(key);
  return std::move(*row);
}

/// Looks at one entry after the other.
class SignatureCheck {
 public:
  SignatureCheck(Cache::Impl& cache, const TrustedKeys& keys)
      : cache_(cache), keys_(keys), texts_({&cache}) {}

  Result<SignatureReport> run() {
    for (const auto& key : keys_.keys()) {
      auto alone = TrustedKeys::read(key.text());
      if (!alone) return tl::unexpected(std::move(alone.error()));
      each_key_.push_back(std::move(*alone));
    }
    const auto rows = locate_entries(cache_, report_.findings);
    if (!rows) return tl::unexpected(rows.error());
    for (const Located& row : *rows) {
      if (auto looked = look_at(row); !looked) return tl::unexpected(std::move(looked.error()));
    }
    return std::move(report_);
  }

 private:
  Outcome look_at(const Located& row) {
    ++report_.entries;
    const auto picked = pick_up(row, WithContents::yes, report_.findings, keys_);
    if (!picked) return tl::unexpected(picked.error());
    if (!*picked) return {};
    const auto signers = signers_of(row, **picked);
    for (const auto& signer : signers) ++report_.signers[signer];
    if (signers.empty()) {
      report_.findings.push_back(
          {"entry", row.key.hex(),
           fmt::format("its source and headers are not all there, or not as {} signed them",
                       (*picked)->proof->signer())});
    }
    return {};
  }

  [[nodiscard]] bool covers_texts(const PickedUp& picked) {
    return !has_any_text(picked.contents, texts_) ||
           picked.proof->covers_texts(picked.contents, texts_.hashes());
  }

  // An entry may have been signed with several keys, as where one takes the place of another. Keys may have one name.
  std::set<std::string> signers_of(const Located& row, const PickedUp& as_one_signed_it) {
    std::set<std::string> signers;
    const auto look_at = [&](const PickedUp& picked) {
      if (covers_texts(picked)) signers.insert(picked.proof->signer());
    };
    look_at(as_one_signed_it);
    if (each_key_.size() == 1) return signers;
    for (const auto& key : each_key_) {
      std::vector<Finding> not_of_this_key;
      const auto picked = pick_up(row, WithContents::yes, not_of_this_key, key);
      if (picked && *picked) look_at(**picked);
    }
    return signers;
  }

  Cache::Impl& cache_;
  const TrustedKeys& keys_;
  std::vector<TrustedKeys> each_key_;
  CacheTexts texts_;
  SignatureReport report_;
};

}  // namespace

Result<SignatureReport> Cache::verify_signatures(const TrustedKeys& keys) {
  const CallerState caller;
  return SignatureCheck(*impl_, keys).run();
}

Result<Artifact> Cache::proven_artifact(const Digest& key) {
  const CallerState caller;
  if (!impl_->ensure_open()) return impl_->not_open();
  if (!impl_->asks_for_proof()) {
    auto own = artifact(key);
    // Another thread may have opened what has taken the directory's place.
    if (!impl_->asks_for_proof()) return own;
  }
  auto row = signed_row_of(*impl_, key);
  if (!row) return tl::unexpected(row.error());
  const auto proof = storage::Proof::of(*row, impl_->options.trusted_keys);
  storage::ProvenOnly proven_only(proof ? &*proof : nullptr);
  const auto request = proof ? Request::from_material(row->material) : std::nullopt;
  const auto identity =
      request ? storage::identify(*row, digest_of(row->material), std::ref(proven_only))
              : std::nullopt;
  auto artifact = identity ? storage::artifact_of(*row, *identity, *request, std::ref(proven_only))
                           : std::nullopt;
  if (!artifact) return nobody_signed(key);
  artifact->origin = impl_->own_origin();
  return std::move(*artifact);
}

Result<std::vector<std::string>> Cache::signers(const Digest& key) {
  const CallerState caller;
  const auto signatures = signatures_of(*impl_, key);
  if (!signatures) return tl::unexpected(signatures.error());
  return storage::signers_in(*signatures);
}

}  // namespace kiln
