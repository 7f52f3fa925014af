#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/request.h"
#include "kiln/signing.h"
#include "record/signature_codec.h"
#include "rows/entry_reader.h"

namespace kiln::storage {

/// What an entry is, for who signs it or compares it with what was signed: all but its texts, which are hashed by
/// themselves.
struct Contents {
  Claim said;                   ///< Without signer, source and headers.
  Digest source;                ///< Of the source text; empty() where a word stands for it.
  std::vector<Digest> headers;  ///< Of the headers that were read, in the order of their look-ups.
};

/// Of what it is made: records, and what they say. Borrows all.
struct Parts {
  std::string_view request_record;
  const Request& request;
  std::string_view dependencies_record;
  const DependencySet& dependencies;
  const Toolchain& toolchain;
  std::string_view artifact_record;
  const Artifact& artifact;
  std::string_view kernels_frame;  ///< Empty where nobody has read the image.
};

/// REQUIRES, as all below: a key is set.
[[nodiscard]] Contents contents_of(const Parts& parts);

/// The hash of the text of this digest; nothing where it is not there.
using HashOfText = std::function<std::optional<std::string>(const Digest& text)>;

/// The whole claim, still without a signer; nothing where a text is missing.
[[nodiscard]] std::optional<Claim> claim_of(const Contents& contents,
                                            const HashOfText& hash_of_text);

/// Whether one of these signatures, whoever made it, says that the entry was made of another source or other headers: texts of
/// one digest need not be the same.
[[nodiscard]] bool are_of_other_texts(const std::vector<std::string>& signatures,
                                      const Claim& claim);

/// That somebody who is trusted signed an entry. It is had before anything of the entry is decoded, and says then what
/// may be.
class Proof {
 public:
  /// From the first of the row's signatures that a trusted key made for this request, this compiler and records of
  /// these sizes; nothing where there is none. Looks at nothing but columns that are hashed as they are, and at what
  /// frames say of their size: so nothing is decompressed that is larger than what was signed.
  [[nodiscard]] static std::optional<Proof> of(const RawEntry& row, const TrustedKeys& keys);

  /// Whether this is the record that was signed.
  [[nodiscard]] bool covers(RecordKind kind, std::string_view record) const;
  [[nodiscard]] bool covers_kernels(std::string_view frame) const;
  [[nodiscard]] bool covers_texts(const Contents& contents, const HashOfText& hash_of_text) const;

  /// Whether these are the hashes of what was signed, as SignedTexts has them. `stored`: of a text that lies beside the entry.
  [[nodiscard]] bool covers_source(const std::string& hash) const;
  [[nodiscard]] bool covers_headers(const DependencySet& dependencies,
                                    const std::vector<std::string>& hashes,
                                    const HashOfText& stored) const;

  [[nodiscard]] const std::string& signer() const noexcept { return signed_.signer; }
  [[nodiscard]] const Claim& claim() const noexcept { return signed_; }
  /// The signatures of trusted keys that say the same, this one's first.
  [[nodiscard]] const std::vector<std::string>& records() const noexcept { return records_; }

 private:
  explicit Proof(Claim claim) noexcept : signed_(std::move(claim)) {}

  Claim signed_;
  std::vector<std::string> records_;
};

/// Lets what is covered be decoded, where proof is asked for, and remembers where it had to refuse.
class ProvenOnly {
 public:
  /// nullptr: no proof is asked for. Borrowed.
  explicit ProvenOnly(const Proof* proof) noexcept : proof_(proof) {}

  bool operator()(RecordKind kind, std::string_view record) {
    const bool covered = proof_ == nullptr || proof_->covers(kind, record);
    refused_ |= !covered;
    return covered;
  }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  const Proof* const proof_;
  bool refused_ = false;
};

}  // namespace kiln::storage
