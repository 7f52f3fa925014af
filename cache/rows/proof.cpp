#include "rows/proof.h"

#include <algorithm>
#include <utility>

#include "signing/signature.h"

namespace kiln::storage {
namespace {

std::optional<std::string> hash_of_headers(const std::vector<Digest>& headers,
                                           const HashOfText& hash_of_text) {
  std::string hashes;
  for (const auto& header : headers) {
    const auto hash = hash_of_text(header);
    if (!hash) return std::nullopt;
    hashes += *hash;
  }
  return hash_of(hashes);
}

/// Who signs has read them. A header that was only asked for need not be.
std::vector<Digest> headers_read(const DependencySet& dependencies) {
  std::vector<Digest> headers;
  for (const auto& lookup : dependencies.lookups) {
    if (lookup.is_read()) headers.push_back(lookup.content);
  }
  return headers;
}

/// But for who says it, and for what image readers told of its kernels.
bool says_the_same(const Claim& a, const Claim& b) {
  return a.request == b.request && a.dependencies == b.dependencies && a.source == b.source &&
         a.headers == b.headers && a.toolchain == b.toolchain &&
         a.toolchain_text == b.toolchain_text && a.artifact == b.artifact;
}

}  // namespace

Contents contents_of(const Parts& parts) {
  Contents contents;
  auto& said = contents.said;
  said.request = hash_of(parts.request_record);
  said.dependencies = hash_of(parts.dependencies_record);
  said.dependencies_bytes = parts.dependencies_record.size();
  said.toolchain = parts.toolchain.identity;
  said.toolchain_text = parts.toolchain.text;
  said.artifact = hash_of(parts.artifact_record);
  said.artifact_bytes = parts.artifact_record.size();
  if (!parts.kernels_frame.empty()) said.kernels = hash_of(parts.kernels_frame);
  if (parts.artifact.source_text.empty()) contents.source = parts.request.source;
  contents.headers = headers_read(parts.dependencies);
  return contents;
}

std::optional<Claim> claim_of(const Contents& contents, const HashOfText& hash_of_text) {
  auto claim = contents.said;
  if (!contents.source.empty()) {
    const auto source = hash_of_text(contents.source);
    if (!source) return std::nullopt;
    claim.source = *source;
  }
  const auto headers = hash_of_headers(contents.headers, hash_of_text);
  if (!headers) return std::nullopt;
  claim.headers = *headers;
  return claim;
}

bool are_of_other_texts(const std::vector<std::string>& signatures, const Claim& claim) {
  return std::ranges::any_of(signatures, [&](const std::string& record) {
    const auto signature = decode_signature(record);
    const auto said = signature ? decode_claim(signature->claim) : std::nullopt;
    return said && said->request == claim.request && said->dependencies == claim.dependencies &&
           (said->source != claim.source || said->headers != claim.headers);
  });
}

std::optional<Proof> Proof::of(const RawEntry& row, const TrustedKeys& keys) {
  std::optional<Proof> proof;
  if (row.signatures.empty()) return proof;
  const auto request = hash_of(row.material);
  const auto sizes = sizes_of(row);
  for (const auto& signature : row.signatures) {
    auto claim = trusted_claim(signature, keys);
    const bool is_of_row =
        claim && claim->request == request && row.toolchain == claim->toolchain &&
        row.toolchain_text == claim->toolchain_text &&
        sizes.dependencies == claim->dependencies_bytes && sizes.artifact == claim->artifact_bytes;
    if (!is_of_row) continue;
    if (!proof) proof = Proof(*claim);
    if (says_the_same(proof->signed_, *claim)) proof->records_.push_back(signature);
  }
  return proof;
}

bool Proof::covers(RecordKind kind, std::string_view record) const {
  return hash_of(record) ==
         (kind == RecordKind::artifact ? signed_.artifact : signed_.dependencies);
}

bool Proof::covers_kernels(std::string_view frame) const {
  return !signed_.kernels.empty() && signed_.kernels == hash_of(frame);
}

bool Proof::covers_texts(const Contents& contents, const HashOfText& hash_of_text) const {
  const auto claim = claim_of(contents, hash_of_text);
  return claim && signed_.source == claim->source && signed_.headers == claim->headers;
}

bool Proof::covers_source(const std::string& hash) const {
  return signed_.source.empty() || signed_.source == hash;
}

bool Proof::covers_headers(const DependencySet& dependencies,
                           const std::vector<std::string>& hashes, const HashOfText& stored) const {
  std::string all;
  for (std::size_t index = 0; index < dependencies.lookups.size(); ++index) {
    const auto& lookup = dependencies.lookups[index];
    if (!lookup.is_read()) continue;
    const auto hash =
        index < hashes.size() && !hashes[index].empty() ? hashes[index] : stored(lookup.content);
    if (!hash) return false;
    all += *hash;
  }
  return signed_.headers == hash_of(all);
}

}  // namespace kiln::storage
