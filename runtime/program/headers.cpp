#include "kiln/headers.h"

#include <algorithm>
#include <new>
#include <utility>

#include <zstd.h>

namespace kiln {

namespace {

// A set keeps these alive: the texts, and the table that points into them.
struct OwnedTexts {
  std::vector<HeaderSet::SharedText> texts;
  std::vector<EmbeddedHeader> table;
};

bool by_name(const EmbeddedHeader& left, const EmbeddedHeader& right) {
  return left.name < right.name;
}

}  // namespace

std::string_view PackedTexts::texts() const {
  std::call_once(once_, [this] {
    auto texts = std::make_unique<char[]>(size_);
    // The frame is part of the program, so only memory can fail.
    if (ZSTD_decompress(texts.get(), size_, frame_, frame_size_) != size_) throw std::bad_alloc();
    texts_ = texts.release();
  });
  return {texts_, size_};
}

HeaderSet HeaderSet::from_static(std::span<const EmbeddedHeader> headers) {
  HeaderSet set;
  set.headers_ = headers;
  return set;
}

HeaderSet HeaderSet::from_texts(std::vector<NamedText> texts) {
  std::vector<SharedText> shared;
  shared.reserve(texts.size());
  for (auto& header : texts) {
    shared.push_back(
        {std::move(header.name), std::make_shared<const std::string>(std::move(header.text))});
  }
  return from_shared(std::move(shared));
}

HeaderSet HeaderSet::from_shared(std::vector<SharedText> texts) {
  auto owned = std::make_shared<OwnedTexts>();
  owned->texts = std::move(texts);
  for (const auto& [name, text] : owned->texts) {
    owned->table.push_back({name, *text, digest_of(*text)});
  }
  std::stable_sort(owned->table.begin(), owned->table.end(), by_name);
  const auto repeated =
      std::unique(owned->table.begin(), owned->table.end(),
                  [](const auto& left, const auto& right) { return left.name == right.name; });
  owned->table.erase(repeated, owned->table.end());

  HeaderSet set;
  set.headers_ = owned->table;
  set.owner_ = std::move(owned);
  return set;
}

const EmbeddedHeader* HeaderSet::find(std::string_view name) const noexcept {
  // kiln-embed and from_texts() both sort by name.
  const auto at =
      std::lower_bound(headers_.begin(), headers_.end(), EmbeddedHeader{name, {}, {}}, by_name);
  return at != headers_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace kiln
