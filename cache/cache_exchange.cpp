#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cache_arrival.h"
#include "cache_departure.h"
#include "cache_impl.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "kiln/exchange.h"
#include "record/frame.h"
#include "record/parcel_codec.h"
#include "rows/entry_reader.h"
#include "signing/signature.h"

namespace kiln {

using storage::ListedText;
using storage::Parcel;
using storage::ParcelHint;

namespace {

/// Of one entry, and of all its texts together: more than any compiler makes.
constexpr std::uint64_t most_object_bytes = std::uint64_t{256} << 20;
/// What a parcel has beside the records that its claim knows the sizes of.
constexpr std::uint64_t most_bytes_beside = std::uint64_t{16} << 20;
/// So many entries are taken for a request. They differ in their headers, or in their compiler.
constexpr std::size_t most_of_a_request = 16;
/// So many hints are read for one: others may have put any number there.
constexpr std::size_t most_hints = 1'000;
/// A store that gives so much which leads to nothing is left.
constexpr std::uint64_t most_wasted_bytes = std::uint64_t{1} << 30;
/// Of a list, for each text: two fields with their tags and lengths.
constexpr std::uint64_t bytes_of_listed_text = 52;

/// A hash as an object's name.
std::string name_of(std::string_view hash) {
  std::string name;
  for (const char byte : hash) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return name;
}

/// Puts entries into a store, one after the other.
class Pusher {
 public:
  Pusher(Cache::Impl& from, ObjectStore& to, const PushOptions& options)
      : from_(from),
        to_(to),
        options_(options),
        departure_({&from}, {options.without_sources, options.signing_key}, report_.skipped) {}

  Result<PushReport> run() {
    auto rows = locate_entries(from_, report_.skipped);
    if (!rows) return tl::unexpected(std::move(rows.error()));
    if (options_.keys) leave_only(*rows, *options_.keys);
    for (std::size_t at = 0; at < rows->size(); ++at) {
      if (auto pushed = push((*rows)[at]); !pushed) return tl::unexpected(pushed.error());
      if (options_.progress) options_.progress(at + 1, rows->size());
    }
    return std::move(report_);
  }

 private:
  static void leave_only(std::vector<Located>& rows, const std::vector<Digest>& keys) {
    const std::set<Digest> wanted(keys.begin(), keys.end());
    std::erase_if(rows, [&](const Located& row) { return !wanted.contains(row.key); });
  }

  /// What an object refers to is there before it, since others may read meanwhile.
  Result<void> push(const Located& row) {
    auto leaving = departure_.prepare(row);
    if (!leaving) return tl::unexpected(std::move(leaving.error()));
    if (!*leaving) return {};
    auto& entry = (*leaving)->entry;
    if (auto put = put_texts(entry); !put) return put;
    auto parcel = parcel_of(entry);
    if ((*leaving)->with_texts) {
      auto list = put_list_of((*leaving)->texts);
      if (!list) return tl::unexpected(std::move(list.error()));
      parcel.text_list = std::move(*list);
    }
    const auto record = storage::encode_parcel(parcel);
    if (record.size() > most_object_bytes) {
      report_.skipped.push_back({"entry", entry.key.hex(), "is too large for a store"});
      return {};
    }
    const auto hash = storage::hash_of(record);
    const auto is_new = put(hash, record);
    if (!is_new) return tl::unexpected(is_new.error());
    ++(*is_new ? report_.added : report_.present);
    if ((*leaving)->is_signed) ++report_.signed_entries;
    return to_.add_hint(entry.request, name_of(hash),
                        storage::encode_hint({entry.key, hash, parcel.signatures}));
  }

  static Parcel parcel_of(storage::PreparedEntry& entry) {
    auto& signatures = entry.signatures;
    // The latest count.
    if (signatures.size() > storage::most_signatures)
      signatures.erase(signatures.begin(), signatures.end() - storage::most_signatures);
    return {.key = entry.key,
            .material = std::move(entry.material),
            .toolchain = {entry.toolchain, std::move(entry.toolchain_text)},
            .dependencies_frame = std::move(entry.dependencies_frame),
            .payload = std::move(entry.payload),
            .kernels_frame = std::move(entry.kernels_frame),
            .signatures = std::move(entry.signatures),
            .text_list = {}};
  }

  Result<void> put_texts(const storage::PreparedEntry& entry) {
    for (const auto& text : entry.texts) {
      // Nobody would take it.
      if (text.raw_bytes > most_text_bytes) continue;
      const auto hash = storage::hash_of(text.frame);
      if (auto is_new = put(hash, text.frame); !is_new) return tl::unexpected(is_new.error());
      objects_of_texts_[text.digest] = hash;
    }
    return {};
  }

  /// Gives its hash.
  Result<std::string> put_list_of(const std::vector<Digest>& texts) {
    std::vector<ListedText> list;
    for (const auto& digest : std::set<Digest>(texts.begin(), texts.end())) {
      const auto object = objects_of_texts_.find(digest);
      if (object != objects_of_texts_.end()) list.push_back({digest, object->second});
    }
    const auto record = storage::encode_text_list(list);
    auto hash = storage::hash_of(record);
    if (auto is_new = put(hash, record); !is_new) return tl::unexpected(is_new.error());
    return hash;
  }

  /// Whether it was not there before.
  Result<bool> put(const std::string& hash, std::string_view bytes) {
    auto is_new = to_.put(name_of(hash), bytes);
    if (is_new == true) report_.bytes += bytes.size();
    return is_new;
  }

  Cache::Impl& from_;
  ObjectStore& to_;
  const PushOptions& options_;
  PushReport report_;
  Departure departure_;
  std::map<Digest, std::string> objects_of_texts_;
};

/// Reads objects, and gives none but those that are what their names say.
class ObjectReader {
 public:
  ObjectReader(ObjectStore& store, PullReport& report) : store_(store), report_(report) {}

  /// Nothing, and a finding but where there is none, for an object that does not serve.
  std::optional<std::string> read(const std::string& hash, std::uint64_t most_bytes) {
    const auto name = name_of(hash);
    auto object = store_.get(name, most_bytes);
    if (!object) {
      refuse(name, object.error().message);
      return std::nullopt;
    }
    if (!*object) return std::nullopt;
    report_.bytes += (*object)->size();
    if (storage::hash_of(**object) == hash) return std::move(*object);
    refuse(name, "is damaged: it is not what it is named by");
    return std::nullopt;
  }

  void refuse(const std::string& name, std::string why) {
    report_.skipped.push_back({"object", name, std::move(why)});
  }

 private:
  ObjectStore& store_;
  PullReport& report_;
};

/// The texts that the entry which has just been read came with.
class ObjectTexts final : public TextSource {
 public:
  explicit ObjectTexts(ObjectReader& objects) : objects_(objects) {}

  /// Whether a text stands in another object than it stood in before: two texts may have one digest.
  [[nodiscard]] bool contradicts(const std::vector<ListedText>& list) const {
    return std::ranges::any_of(list, [&](const ListedText& text) {
      const auto known = object_of_.find(text.digest);
      return known != object_of_.end() && known->second != text.object;
    });
  }

  void forget_all() { object_of_.clear(); }

  void add(const std::vector<ListedText>& list) {
    frames_.clear();
    bytes_ = 0;
    for (const auto& text : list) object_of_.insert_or_assign(text.digest, text.object);
  }

  Result<std::optional<storage::PreparedText>> text(const Digest& digest,
                                                    std::vector<Finding>& skipped) override {
    const auto* const frame = frame_of(digest);
    if (frame == nullptr) return std::optional<storage::PreparedText>();
    auto text = storage::prepare_again(digest, *frame);
    if (!text) skipped.push_back({"text", digest.hex(), "is damaged"});
    return text;
  }

  std::optional<std::string> hash(const Digest& digest) override {
    const auto object = object_of_.find(digest);
    if (object == object_of_.end()) return std::nullopt;
    const auto known = hash_of_.find(object->second);
    if (known != hash_of_.end()) return known->second;
    const auto* const frame = frame_of(digest);
    const auto text = frame != nullptr ? storage::text_of(*frame, digest) : std::nullopt;
    if (!text) return std::nullopt;
    return hash_of_[object->second] = storage::hash_of(*text);
  }

 private:
  /// The frame of a text that may be decompressed; nullptr where there is none.
  const std::string* frame_of(const Digest& digest) {
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

  ObjectReader& objects_;
  std::map<Digest, std::string> object_of_;
  std::map<std::string, std::string> hash_of_;  ///< By object.
  // Of the last entry:
  std::map<std::string, std::optional<std::string>> frames_;
  std::uint64_t bytes_ = 0;
};

/// As if it lay in a database, under numbers that nobody asks for.
storage::RawEntry row_of(Parcel parcel) {
  return {.key = parcel.key,
          .toolchain = parcel.toolchain.identity,
          .dependencies_id = parcel.dependencies_frame.empty() ? std::nullopt : std::optional(0),
          .material = std::move(parcel.material),
          .payload = std::move(parcel.payload),
          .toolchain_text = std::move(parcel.toolchain.text),
          .dependencies_frame = std::move(parcel.dependencies_frame),
          .kernels_frame = std::move(parcel.kernels_frame),
          .signatures = std::move(parcel.signatures)};
}

/// Brings what answers requests out of a store, one request after the other.
class Puller {
 public:
  Puller(ObjectStore& from, Cache::Impl& to, const PullOptions& options)
      : from_(from),
        to_(to),
        options_(options),
        objects_(from, report_),
        texts_(objects_),
        arrival_(to, texts_, arrived_) {}

  Result<PullReport> run() {
    auto requests =
        options_.requests ? Result<std::vector<Digest>>(*options_.requests) : from_.requests();
    if (!requests) return tl::unexpected(std::move(requests.error()));
    for (std::size_t at = 0; at < requests->size(); ++at) {
      if (auto pulled = pull_all_of((*requests)[at]); !pulled)
        return tl::unexpected(std::move(pulled.error()));
      if (options_.progress) options_.progress(at + 1, requests->size());
    }
    if (auto finished = arrival_.finish(); !finished) return tl::unexpected(finished.error());
    report_.added = arrived_.added;
    report_.present = arrived_.present;
    report_.skipped.insert(report_.skipped.end(), arrived_.skipped.begin(), arrived_.skipped.end());
    return std::move(report_);
  }

 private:
  struct Hint {
    ParcelHint said;
    std::uint64_t most_bytes = most_object_bytes;  ///< Of the parcel.
  };

  Result<void> pull_all_of(const Digest& request) {
    const auto names = from_.hints(request);
    if (!names) report_.skipped.push_back({"request", request.hex(), names.error().message});
    bool found = false;
    std::size_t taken = 0;
    for (std::size_t at = 0; names && at < names->size() && taken < most_of_a_request; ++at) {
      if (at == most_hints) {
        report_.skipped.push_back({"request", request.hex(), "has more hints than are read"});
        break;
      }
      const auto hint = read_hint(request, (*names)[at]);
      if (!hint) continue;
      ++taken;
      const auto there = pull_counting(*hint, request);
      if (!there) return tl::unexpected(there.error());
      found |= *there;
    }
    if (!found) ++report_.missing;
    return {};
  }

  /// What nobody signed shall not stand in the way of what somebody did.
  std::optional<Hint> read_hint(const Digest& request, const std::string& name) {
    const auto record = from_.hint(request, name);
    if (record && !*record) return std::nullopt;
    auto said = record ? storage::decode_hint(**record) : std::nullopt;
    if (!said || name_of(said->object) != name) {
      report_.skipped.push_back({"hint", name, record ? "is damaged" : record.error().message});
      return std::nullopt;
    }
    Hint hint{std::move(*said)};
    const auto& keys = from_.trusted_keys();
    if (keys.empty()) return hint;
    for (const auto& signature : hint.said.signatures) {
      const auto claim = storage::trusted_claim(signature, keys);
      if (!claim) continue;
      hint.most_bytes = std::min(
          most_object_bytes, claim->dependencies_bytes + claim->artifact_bytes + most_bytes_beside);
      return hint;
    }
    return std::nullopt;
  }

  /// Gives a store up that costs too much for nothing.
  Result<bool> pull_counting(const Hint& hint, const Digest& request) {
    const auto before = report_.bytes;
    auto there = pull_one(hint, request);
    if (there == false) wasted_bytes_ += report_.bytes - before;
    if (wasted_bytes_ <= most_wasted_bytes) return there;
    return fail(
        ErrorCode::cache_unusable,
        "the store is given up: more than 1 GiB of it led to no entry; somebody has written "
        "there what kiln has not");
  }

  /// Whether it is here now.
  Result<bool> pull_one(const Hint& hint, const Digest& request) {
    auto here = is_here(hint.said.key, request);
    if (!here || *here) return here;
    const auto& object = hint.said.object;
    const auto record = objects_.read(object, hint.most_bytes);
    if (!record) return false;
    auto parcel = storage::decode_parcel(*record);
    if (!parcel || parcel->key != hint.said.key || digest_of(parcel->material) != request) {
      objects_.refuse(name_of(object), "is not the entry that the store says it is");
      return false;
    }
    const auto list = std::exchange(parcel->text_list, {});
    const bool tells_kernels = !parcel->kernels_frame.empty();
    auto picked = examine(row_of(std::move(*parcel)), WithContents::yes, from_.trusted_keys(),
                          arrived_.skipped);
    if (!picked) return false;
    if (tells_kernels && picked->entry.kernels_frame.empty()) {
      objects_.refuse(name_of(object), "tells kernels that are not those of its image");
      return false;
    }
    if (auto read = read_texts(list, *picked); !read) return tl::unexpected(read.error());
    if (auto took = arrival_.take(std::move(*picked)); !took) return tl::unexpected(took.error());
    return true;
  }

  /// A hint may name any entry.
  Result<bool> is_here(const Digest& key, const Digest& request) {
    auto here = answers(to_, key, request);
    return here == true ? arrival_.is_present(key) : here;
  }

  /// Only of those texts that the entry has. What was taken before is stored before its texts mean something else.
  Result<void> read_texts(const std::string& list, const PickedUp& picked) {
    // Entries of one list follow each other.
    if (!list.empty() && list == texts_read_) return {};
    texts_read_ = list;
    // Its source, and the list's own beginning.
    const auto most_bytes = (picked.entry.headers.size() + 2) * bytes_of_listed_text;
    const auto record = list.empty() ? std::nullopt : objects_.read(list, most_bytes);
    auto texts = record ? storage::decode_text_list(*record) : std::nullopt;
    if (record && !texts) objects_.refuse(name_of(list), "is no list of texts");
    if (!texts) texts.emplace();
    const auto of_entry = texts_of(picked);
    const std::set<Digest> wanted(of_entry.begin(), of_entry.end());
    std::erase_if(*texts, [&](const ListedText& text) { return !wanted.contains(text.digest); });
    if (texts_.contradicts(*texts)) {
      if (auto finished = arrival_.finish(); !finished) return finished;
      texts_.forget_all();
    }
    texts_.add(*texts);
    return {};
  }

  ObjectStore& from_;
  Cache::Impl& to_;
  const PullOptions& options_;
  std::uint64_t wasted_bytes_ = 0;
  PullReport report_;
  ImportReport arrived_;
  ObjectReader objects_;
  ObjectTexts texts_;
  std::string texts_read_;  ///< The name of their list.
  Arrival arrival_;
};

}  // namespace

Result<PushReport> push(Cache& from, ObjectStore& to, const PushOptions& options) {
  const CallerState caller;
  if (auto hashing = storage::prepare_to_hash(); !hashing)
    return tl::unexpected(std::move(hashing.error()));
  auto& cache = from.impl();
  if (!cache.ensure_open()) return cache.not_open();
  return Pusher(cache, to, options).run();
}

Result<PullReport> pull(ObjectStore& from, Cache& to, const PullOptions& options) {
  const CallerState caller;
  if (auto hashing = storage::prepare_to_hash(); !hashing)
    return tl::unexpected(std::move(hashing.error()));
  auto& cache = to.impl();
  if (!cache.ensure_open()) return cache.not_open();
  static_cast<void>(cache.look_again());
  return Puller(from, cache, options).run();
}

}  // namespace kiln
