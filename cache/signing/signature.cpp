#include "signing/signature.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "signing/keys.h"
#include "signing/sodium.h"

namespace kiln::storage {
namespace {

constexpr std::size_t hash_bytes = 32;
constexpr std::size_t signature_bytes = 64;

/// Stands before each claim that is signed, so that what is signed for another purpose is no claim.
constexpr std::string_view domain{"kiln signed entry\0", 18};

const unsigned char* bytes_of(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string what_is_signed(std::string_view claim) { return std::string(domain).append(claim); }

bool is_signed_by(const PublicKey& key, const Signature& signature) {
  const auto text = what_is_signed(signature.claim);
  return sodium()->verify(bytes_of(signature.bytes), bytes_of(text), text.size(),
                          key.bytes.data()) == 0;
}

}  // namespace

Outcome prepare_to_hash() {
  if (const auto& opened = sodium(); !opened) return tl::unexpected(opened.error());
  return {};
}

std::string hash_of(std::string_view bytes) {
  std::array<unsigned char, hash_bytes> hash;
  sodium()->generichash(hash.data(), hash.size(), bytes_of(bytes), bytes.size(), nullptr, 0);
  return {hash.begin(), hash.end()};
}

std::string sign(Claim claim, const SigningKey& key) {
  claim.signer = key.public_key().name;
  Signature signature{encode_claim(claim), {}};
  const auto text = what_is_signed(signature.claim);
  std::array<unsigned char, signature_bytes> bytes;
  sodium()->sign(bytes.data(), nullptr, bytes_of(text), text.size(), key.secret().bytes.data());
  signature.bytes.assign(bytes.begin(), bytes.end());
  return encode_signature(signature);
}

std::optional<Claim> trusted_claim(std::string_view record, const TrustedKeys& keys) {
  const auto signature = decode_signature(record);
  auto claim = signature ? decode_claim(signature->claim) : std::nullopt;
  if (!claim) return std::nullopt;
  // Who trusts many keys does not check what somebody forged with each of them.
  for (const auto& key : keys.keys()) {
    if (claim->signer == key.name && is_signed_by(key, *signature)) return claim;
  }
  return std::nullopt;
}

bool names_a_key_of(const TrustedKeys& keys, std::string_view record) {
  const auto signature = decode_signature(record);
  const auto claim = signature ? decode_claim(signature->claim) : std::nullopt;
  return claim &&
         std::ranges::find(keys.keys(), claim->signer, &PublicKey::name) != keys.keys().end();
}

}  // namespace kiln::storage

namespace kiln {

std::string text_hash(std::string_view text) { return storage::hash_of(text); }

}  // namespace kiln
