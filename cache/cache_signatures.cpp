#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "record/signature_codec.h"
#include "rows/signature_list.h"

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

/// Looks at one entry after the other.
class SignatureCheck {
 public:
  SignatureCheck(Cache::Impl& cache, const TrustedKeys& keys)
      : cache_(cache), keys_(keys), hashes_({&cache}) {}

  Result<SignatureReport> run() {
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
    const auto picked = pick_up(row, keys_, WithContents::yes, report_.findings);
    if (!picked) return tl::unexpected(picked.error());
    if (!*picked) return {};
    const auto& [entry, contents, proof] = **picked;
    if (has_texts(contents) && !proof->covers_texts(contents, std::ref(hashes_))) {
      report_.findings.push_back(
          {"entry", row.key.hex(),
           fmt::format("its source and headers are not all there, or not as {} signed them",
                       proof->signer())});
    } else {
      ++report_.signers[proof->signer()];
    }
    return {};
  }

  /// Who leaves out sources leaves out all of an entry's.
  bool has_texts(const storage::Contents& contents) {
    const auto is_there = [&](const Digest& text) { return hashes_(text).has_value(); };
    return (!contents.source.empty() && is_there(contents.source)) ||
           std::ranges::any_of(contents.headers, is_there);
  }

  Cache::Impl& cache_;
  const TrustedKeys& keys_;
  TextHashes hashes_;
  SignatureReport report_;
};

}  // namespace

Result<SignatureReport> Cache::verify_signatures(const TrustedKeys& keys) {
  const CallerState caller;
  return SignatureCheck(*impl_, keys).run();
}

Result<std::vector<std::string>> Cache::signers(const Digest& key) {
  const CallerState caller;
  const auto signatures = signatures_of(*impl_, key);
  if (!signatures) return tl::unexpected(signatures.error());
  std::vector<std::string> names;
  for (const auto& record : *signatures) {
    const auto signature = storage::decode_signature(record);
    auto claim = signature ? storage::decode_claim(signature->claim) : std::nullopt;
    if (claim) names.push_back(std::move(claim->signer));
  }
  return names;
}

}  // namespace kiln
