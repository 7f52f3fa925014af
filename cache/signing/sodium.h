#pragma once

#include <sodium.h>

#include "kiln/error.h"

namespace kiln::storage {

/// What kiln uses of libsodium, by the declarations of its own header. All are safe from any thread.
struct Sodium {
  decltype(&::crypto_generichash) generichash = nullptr;
  decltype(&::crypto_sign_ed25519_seed_keypair) seed_keypair = nullptr;
  decltype(&::crypto_sign_ed25519_detached) sign = nullptr;
  decltype(&::crypto_sign_ed25519_verify_detached) verify = nullptr;
  decltype(&::randombytes_buf) random = nullptr;
  decltype(&::sodium_bin2base64) to_base64 = nullptr;
  decltype(&::sodium_base642bin) from_base64 = nullptr;
};

/// Opens libsodium, once for the process, where it is first asked for. Who sets no key never asks, and maps nothing of it. Static
/// lifetime. Errors: invalid_setting, naming the package.
[[nodiscard]] const Result<Sodium>& sodium();

}  // namespace kiln::storage
