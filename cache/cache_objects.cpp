#include "cache_objects.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cache_parcel.h"
#include "record/frame.h"
#include "rows/entry_reader.h"
#include "signing/signature.h"

namespace kiln {

using storage::ListedText;

namespace {

/// Of a list, for each text: two fields with their tags and lengths.
constexpr std::uint64_t bytes_of_listed_text = 52;

}  // namespace

std::optional<std::string> ObjectReader::read(const std::string& hash, std::uint64_t most_bytes) {
  const auto name = name_of(hash);
  auto object = store_.get(name, most_bytes);
  if (!object) {
    refuse(name, object.error().message);
    return std::nullopt;
  }
  if (!*object) return std::nullopt;
  bytes_ += (*object)->size();
  if (storage::hash_of(**object) == hash) return std::move(*object);
  refuse(name, "is damaged: it is not what it is named by");
  return std::nullopt;
}

void ObjectReader::refuse(const std::string& name, std::string why) {
  skipped_.push_back({"object", name, std::move(why)});
}

std::vector<ListedText> ObjectTexts::read_list(const std::string& list, std::size_t most_texts,
                                               const std::vector<Digest>& wanted) {
  if (list.empty()) return {};
  // The list's own beginning counts like a text.
  const auto record = objects_.read(list, (most_texts + 1) * bytes_of_listed_text);
  auto texts = record ? storage::decode_text_list(*record) : std::nullopt;
  if (record && !texts) objects_.refuse(name_of(list), "is no list of texts");
  if (!texts) return {};
  const std::set<Digest> kept(wanted.begin(), wanted.end());
  std::erase_if(*texts, [&](const ListedText& text) { return !kept.contains(text.digest); });
  return std::move(*texts);
}

bool ObjectTexts::contradicts(const std::vector<ListedText>& list) const {
  return std::ranges::any_of(list, [&](const ListedText& text) {
    const auto known = object_of_.find(text.digest);
    return known != object_of_.end() && known->second != text.object;
  });
}

void ObjectTexts::add(const std::vector<ListedText>& list) {
  frames_.clear();
  bytes_ = 0;
  for (const auto& text : list) object_of_.insert_or_assign(text.digest, text.object);
}

Result<std::optional<storage::PreparedText>> ObjectTexts::text(const Digest& digest,
                                                               std::vector<Finding>& skipped) {
  const auto* const frame = frame_of(digest);
  if (frame == nullptr) return std::optional<storage::PreparedText>();
  auto text = storage::prepare_again(digest, *frame);
  if (!text) skipped.push_back({"text", digest.hex(), "is damaged"});
  return text;
}

std::optional<std::string> ObjectTexts::hash(const Digest& digest) {
  const auto object = object_of_.find(digest);
  if (object == object_of_.end()) return std::nullopt;
  const auto known = hash_of_.find(object->second);
  if (known != hash_of_.end()) return known->second;
  const auto* const frame = frame_of(digest);
  const auto text = frame != nullptr ? storage::text_of(*frame, digest) : std::nullopt;
  if (!text) return std::nullopt;
  return hash_of_[object->second] = storage::hash_of(*text);
}

/// The frame of a text that may be decompressed; nullptr where there is none.
const std::string* ObjectTexts::frame_of(const Digest& digest) {
  const auto object = object_of_.find(digest);
  if (object == object_of_.end()) return nullptr;
  const auto [at, is_new] = frames_.try_emplace(object->second);
  auto& frame = at->second;
  if (is_new) {
    frame = objects_.read(object->second, most_object_bytes - bytes_);
    if (frame) bytes_ += frame->size();
  }
  if (!frame) return nullptr;
  const auto size = storage::FrameDecoder::sound_size(*frame, storage::text_owner(digest));
  return size && *size <= most_text_bytes ? &*frame : nullptr;
}

}  // namespace kiln
