#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache_pick_up.h"
#include "kiln/exchange.h"
#include "record/parcel_codec.h"

namespace kiln {

/// Reads a store's objects, and gives none but those that are what their names say.
class ObjectReader {
 public:
  /// Borrows both.
  ObjectReader(ObjectStore& store, std::vector<Finding>& skipped)
      : store_(store), skipped_(skipped) {}

  /// The object of this hash. Nothing, and a finding but where there is none, for one that does not serve.
  std::optional<std::string> read(const std::string& hash, std::uint64_t most_bytes);

  void refuse(const std::string& name, std::string why);

  /// Of all that was read.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  ObjectStore& store_;
  std::vector<Finding>& skipped_;
  std::uint64_t bytes_ = 0;
};

/// The texts that the entry which has just been read came with.
class ObjectTexts final : public TextSource {
 public:
  explicit ObjectTexts(ObjectReader& objects) : objects_(objects) {}

  /// Reads a list of at most so many texts, and gives those that are wanted. Empty where there is none, or it does not serve.
  std::vector<storage::ListedText> read_list(const std::string& list, std::size_t most_texts,
                                             const std::vector<Digest>& wanted);

  /// Whether a text stands in another object than it stood in before: two texts may have one digest.
  [[nodiscard]] bool contradicts(const std::vector<storage::ListedText>& list) const;
  void forget_all() { object_of_.clear(); }
  void add(const std::vector<storage::ListedText>& list);

  Result<std::optional<storage::PreparedText>> text(const Digest& digest,
                                                    std::vector<Finding>& skipped) override;
  std::optional<std::string> hash(const Digest& digest) override;

 private:
  const std::string* frame_of(const Digest& digest);

  ObjectReader& objects_;
  std::map<Digest, std::string> object_of_;
  std::map<std::string, std::string> hash_of_;  ///< By object.
  // Of the last entry:
  std::map<std::string, std::optional<std::string>> frames_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln
