#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"

namespace kiln::storage {

/// What a signer says of an entry: what was asked for, all that went in, and what came out. By hashes that nobody can make two
/// texts for (BLAKE2b of 32 bytes, as they are), since a digest of XXH3 finds damage and no malice.
struct Claim {
  std::string signer;        ///< The key's name.
  std::string request;       ///< Hash of the request's record.
  std::string dependencies;  ///< Hash of the dependency set's record.
  std::string
      source;  ///< Hash of the source; empty where a word stands for it, which the request has.
  std::string
      headers;  ///< Hash of the hashes of the headers that were read, in the order of their look-ups.
  Digest toolchain;
  std::string toolchain_text;
  std::uint64_t dependencies_bytes = 0;  ///< Of that record.
  std::uint64_t artifact_bytes = 0;      ///< Of the next.
  std::string artifact;  ///< Hash of the artifact's record, image and lowered names with it.
  std::string
      kernels;  ///< Hash of the frame of what the image tells of its kernels; empty where nobody had read it.
};

/// A claim's record, and ed25519's 64 bytes for it.
struct Signature {
  std::string claim;
  std::string bytes;
};

[[nodiscard]] std::string encode_claim(const Claim& claim);
[[nodiscard]] std::string encode_signature(const Signature& signature);

// The inverses; nothing for anything else.
[[nodiscard]] std::optional<Claim> decode_claim(std::string_view record);
[[nodiscard]] std::optional<Signature> decode_signature(std::string_view record);

/// The names of the keys that made these signatures, as their records say; nobody has checked that they did.
[[nodiscard]] std::vector<std::string> signers_in(const std::vector<std::string>& records);

}  // namespace kiln::storage
