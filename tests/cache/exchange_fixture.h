#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/exchange.h"
#include "record/parcel_codec.h"
#include "signatures_fixture.h"
#include "signing/signature.h"

namespace kiln::test {

inline std::string name_of_hash(const std::string& hash) {
  std::string name;
  for (const unsigned char byte : hash) {
    name += "0123456789abcdef"[byte / 16];
    name += "0123456789abcdef"[byte % 16];
  }
  return name;
}

inline std::string object_name(std::string_view bytes) {
  return name_of_hash(storage::hash_of(bytes));
}

inline std::string hash_in_name(const std::string& name) {
  std::string hash;
  for (std::size_t at = 0; at < name.size(); at += 2)
    hash += static_cast<char>(std::stoi(name.substr(at, 2), nullptr, 16));
  return hash;
}

/// What lies in a store, for a test to lie about.
struct StoreContents {
  /// Puts another object in the place of the one that a hint names, under its right name, and gives that.
  std::string replace(const Digest& request, const std::string& bytes) {
    auto& hints = all_hints[request];
    auto hint = storage::decode_hint(hints.begin()->second).value();
    const auto name = object_name(bytes);
    hint.object = hash_in_name(name);
    objects[name] = bytes;
    hints = {{name, storage::encode_hint(hint)}};
    return name;
  }

  /// Puts another list of texts in the place of the parcel's.
  void replace_texts(const Digest& request, const std::string& list) {
    auto parcel = storage::decode_parcel(parcel_of(request)).value();
    parcel.text_list = storage::hash_of(list);
    objects[object_name(list)] = list;
    replace(request, storage::encode_parcel(parcel));
  }

  [[nodiscard]] std::string parcel_of(const Digest& request) const {
    return objects.at(all_hints.at(request).begin()->first);
  }

  std::map<std::string, std::string> objects;
  std::map<Digest, std::map<std::string, std::string>> all_hints;
  int gets = 0;
  std::size_t junk_bytes = 0;  ///< What it gives for every object, where it is set.
};

/// Holds it in memory.
class MemoryStore final : public ObjectStore {
 public:
  explicit MemoryStore(StoreContents& contents, TrustedKeys keys = {})
      : ObjectStore(std::move(keys)), contents_(contents) {}

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override {
    ++contents_.gets;
    if (contents_.junk_bytes != 0) return std::optional(std::string(contents_.junk_bytes, 'x'));
    const auto at = contents_.objects.find(name);
    if (at == contents_.objects.end()) return std::optional<std::string>();
    if (at->second.size() <= most_bytes) return std::optional(at->second);
    return tl::unexpected(Error{ErrorCode::too_large, "too large"});
  }
  Result<bool> put(const std::string& name, std::string_view bytes) override {
    return contents_.objects.emplace(name, bytes).second;
  }
  Result<std::vector<StoreHint>> hints(const Digest& request, std::size_t most) override {
    std::vector<StoreHint> hints;
    for (const auto& [name, hint] : contents_.all_hints[request]) {
      if (hints.size() < most) hints.push_back({name, hint});
    }
    return hints;
  }
  Outcome add_hint(const Digest& request, const std::string& name, std::string_view hint) override {
    contents_.all_hints[request][name] = hint;
    return {};
  }
  Result<std::vector<Digest>> requests() override {
    std::vector<Digest> requests;
    for (const auto& [request, hints] : contents_.all_hints) requests.push_back(request);
    return requests;
  }
  Result<GcReport> collect(const GcOptions&) override { return GcReport(); }

 private:
  StoreContents& contents_;
};

inline Digest request_of(int number) { return digest_of(make_sample(number).request.material()); }

class Exchange : public Signatures {
 protected:
  PushReport push_from(const std::string& cache, const std::vector<int>& numbers,
                       const PushOptions& options = {}) {
    auto from = make_cache(cache, numbers);
    MemoryStore store(store_);
    return push(from, store, options).value();
  }

  PullReport pull_to(Cache& cache, const TrustedKeys& keys = {}, const PullOptions& options = {}) {
    return pull_from(store_, cache, keys, options);
  }

  static PullReport pull_from(StoreContents& contents, Cache& cache, const TrustedKeys& keys,
                              const PullOptions& options = {}) {
    MemoryStore store(contents, keys);
    return pull(store, cache, options).value();
  }

  [[nodiscard]] std::unique_ptr<ObjectStore> memory() {
    return std::make_unique<MemoryStore>(store_);
  }

  StoreContents store_;
};

}  // namespace kiln::test
