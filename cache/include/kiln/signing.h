#pragma once

// kiln/signing.h: keys that say who made what is in a cache.
//
//     const auto key = kiln::SigningKey::read("/etc/farm/kernels-1.key").value();
//     const auto trusted = kiln::TrustedKeys::read(key.public_key().text()).value();
//     auto bundle = kiln::Cache::open_bundle("/mnt/engine.kiln", {.trusted_keys = trusted}).value();

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

// Signatures are ed25519, made and checked by libsodium, which is opened by the first of these functions that needs it
// and by nothing else. Where it is missing each of them fails with invalid_setting, which names its package.

/// The public half of a key, under the name that its signatures carry. A key is replaced by one of another name, so
/// that both are trusted for a while: "farm-1", then "farm-2".
struct PublicKey {
  std::string name;  ///< Letters, digits, '.', '_' and '-'; at most 64.
  std::array<unsigned char, 32> bytes{};

  bool operator==(const PublicKey&) const = default;

  /// "farm-1:" and the bytes in base64.
  [[nodiscard]] std::string text() const;
  /// The inverse. Errors: invalid_setting, also for a secret key, which is not repeated.
  [[nodiscard]] static Result<PublicKey> parse(std::string_view text);
};

/// The hash of a source or of a header, as signatures have it: BLAKE2b of 32 bytes. REQUIRES: a key was read.
[[nodiscard]] std::string text_hash(std::string_view text);

/// Whose signatures count. Immutable; cheap to copy; safe to use from any thread.
class TrustedKeys {
 public:
  /// None: nothing is asked for a signature.
  TrustedKeys() = default;

  /// A list, separated by commas, of keys as PublicKey::text() gives them, and of absolute paths: of a file with a key
  /// on each line, where '#' begins a remark, or of a folder, whose files that end in ".pub" are read. Each must
  /// belong to the user or to root and be writable by nobody else. Errors: invalid_setting, naming the item; also for
  /// a list without a key.
  [[nodiscard]] static Result<TrustedKeys> read(std::string_view list);

  [[nodiscard]] bool empty() const noexcept { return keys_ == nullptr; }
  /// In the order of the list. None where empty(). Valid as long as a copy of this is there.
  [[nodiscard]] std::span<const PublicKey> keys() const noexcept;

 private:
  std::shared_ptr<const std::vector<PublicKey>> keys_;
};

/// A whole key, which signs. Immutable; cheap to copy; safe to use from any thread. The memory of its secret half is
/// overwritten when the last copy goes.
class SigningKey {
 public:
  /// None: nothing is signed.
  SigningKey() = default;

  /// A new one of this name. Errors: invalid_setting, for a name that is none.
  [[nodiscard]] static Result<SigningKey> generate(std::string name);

  /// From a file that write() wrote: the user's own, with no rights for others (0600 or less), and no link. Errors:
  /// invalid_setting, naming the file and the remedy.
  [[nodiscard]] static Result<SigningKey> read(const std::filesystem::path& file);

  /// Into a file that is not there yet, with mode 0600. Errors: io_failed.
  [[nodiscard]] Outcome write(const std::filesystem::path& file) const;

  [[nodiscard]] bool empty() const noexcept { return secret_ == nullptr; }
  /// REQUIRES: !empty().
  [[nodiscard]] const PublicKey& public_key() const noexcept;

  struct KILN_INTERNAL Secret;
  /// The secret half, for who signs. REQUIRES: !empty().
  [[nodiscard]] const Secret& secret() const noexcept { return *secret_; }

 private:
  explicit SigningKey(std::shared_ptr<const Secret> secret) noexcept;

  std::shared_ptr<const Secret> secret_;
};

}  // namespace kiln
