#include "record/signature_codec.h"

#include <cstddef>

#include "record/fields.h"

namespace kiln::storage {
namespace {

constexpr std::size_t hash_bytes = 32;
constexpr std::size_t signature_bytes = 64;

constexpr auto claim_fields = [](auto& fields, auto& claim) {
  const auto hash = [&](Tag tag, auto& value) {
    fields.field(tag, value);
    fields.require(value.size() == hash_bytes);
  };
  const auto optional_hash = [&](Tag tag, auto& value) {
    fields.optional(tag, value, {});
    fields.require(value.empty() || value.size() == hash_bytes);
  };
  fields.version(Tag::claim_version, 1);
  fields.field(Tag::signer, claim.signer);
  hash(Tag::request_hash, claim.request);
  hash(Tag::dependencies_hash, claim.dependencies);
  optional_hash(Tag::source_hash, claim.source);
  hash(Tag::headers_hash, claim.headers);
  fields.field(Tag::toolchain_identity, claim.toolchain);
  fields.field(Tag::toolchain_text, claim.toolchain_text);
  fields.field(Tag::dependencies_bytes, claim.dependencies_bytes);
  fields.field(Tag::artifact_bytes, claim.artifact_bytes);
  hash(Tag::artifact_hash, claim.artifact);
  optional_hash(Tag::kernels_hash, claim.kernels);
};

constexpr auto signature_fields = [](auto& fields, auto& signature) {
  fields.version(Tag::signature_version, 1);
  fields.field(Tag::claim, signature.claim);
  fields.field(Tag::signature, signature.bytes);
  fields.require(signature.bytes.size() == signature_bytes);
};

}  // namespace

std::string encode_claim(const Claim& claim) { return write_record(claim, claim_fields); }

std::string encode_signature(const Signature& signature) {
  return write_record(signature, signature_fields);
}

std::optional<Claim> decode_claim(std::string_view record) {
  return read_record<Claim>(record, claim_fields);
}

std::optional<Signature> decode_signature(std::string_view record) {
  return read_record<Signature>(record, signature_fields);
}

std::vector<std::string> signers_in(const std::vector<std::string>& records) {
  std::vector<std::string> names;
  for (const auto& record : records) {
    const auto signature = decode_signature(record);
    auto claim = signature ? decode_claim(signature->claim) : std::nullopt;
    if (claim) names.push_back(std::move(claim->signer));
  }
  return names;
}

}  // namespace kiln::storage
