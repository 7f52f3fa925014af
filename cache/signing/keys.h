#pragma once

#include <array>
#include <cstddef>

#include "kiln/signing.h"

namespace kiln {

/// Both halves. The secret one is what ed25519 signs with: the seed, and the public half behind it.
struct SigningKey::Secret {
  static constexpr std::size_t seed_bytes = 32;

  PublicKey public_key;
  std::array<unsigned char, 64> bytes{};

  Secret() = default;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
};

}  // namespace kiln
