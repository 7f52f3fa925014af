#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kiln/error.h"
#include "kiln/signing.h"
#include "record/signature_codec.h"

namespace kiln::storage {

/// Opens libsodium, for who has no key and hashes all the same. Errors: invalid_setting, naming the package.
[[nodiscard]] Outcome prepare_to_hash();

/// BLAKE2b of 32 bytes. REQUIRES: libsodium was opened, as whoever has a key has done.
[[nodiscard]] std::string hash_of(std::string_view bytes);

/// The record of this claim's signature by the key; its signer is the key's name.
[[nodiscard]] std::string sign(Claim claim, const SigningKey& key);

/// The claim, if a trusted key of its signer's name signed it; nothing for any other bytes.
[[nodiscard]] std::optional<Claim> trusted_claim(std::string_view signature,
                                                 const TrustedKeys& keys);

/// Whether it says that one of these keys made it, which nobody has checked.
[[nodiscard]] bool names_a_key_of(const TrustedKeys& keys, std::string_view signature);

}  // namespace kiln::storage
