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
#include "cache_objects.h"
#include "cache_parcel.h"
#include "cache_parcel_reader.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "kiln/exchange.h"
#include "record/parcel_codec.h"
#include "signing/signature.h"

namespace kiln {

using storage::ListedText;
using storage::Parcel;
using storage::ParcelHint;
using storage::ParcelNeeds;

namespace {

/// Puts entries into a store, one after the other.
class Pusher {
 public:
  Pusher(Cache::Impl& from, ObjectStore& to, const PushOptions& options)
      : from_(from),
        to_(to),
        options_(options),
        departure_({&from}, {options.without_sources, options.signing_key}, report_.skipped) {}

  Result<PushReport> run() {
    auto rows = options_.keys ? locate_entries(from_, *options_.keys)
                              : locate_entries(from_, report_.skipped);
    if (!rows) return tl::unexpected(std::move(rows.error()));
    for (std::size_t at = 0; at < rows->size(); ++at) {
      if (auto pushed = push((*rows)[at]); !pushed) return tl::unexpected(pushed.error());
      if (options_.progress) options_.progress(at + 1, rows->size());
    }
    return std::move(report_);
  }

 private:
  /// What an object refers to is there before it, since others may read meanwhile.
  Outcome push(const Located& row) {
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
    auto hint = hint_of(parcel, (*leaving)->compile_us);
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
    hint.object = hash;
    return to_.add_hint(entry.request, name_of(hash), storage::encode_hint(hint));
  }

  /// Without the object's name, which is not known yet.
  static ParcelHint hint_of(const Parcel& parcel, std::uint64_t compile_us) {
    ParcelHint hint{parcel.key, {}, parcel.signatures, {}, compile_us};
    if (parcel.dependencies_frame.size() <= storage::most_hinted_frame_bytes)
      hint.needs = ParcelNeeds{parcel.toolchain, parcel.dependencies_frame};
    return hint;
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

  Outcome put_texts(const storage::PreparedEntry& entry) {
    for (const auto& text : entry.texts) {
      // Nobody would take it.
      if (text.raw_bytes > most_text_bytes) continue;
      const auto hash = storage::hash_of(text.frame);
      if (auto there = put_text(hash, text.frame); !there) return there;
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
    if (auto there = put_text(hash, record); !there) return tl::unexpected(there.error());
    return hash;
  }

  Outcome put_text(const std::string& hash, std::string_view bytes) {
    auto* const there = options_.texts_there;
    if (there != nullptr && there->contains(hash)) return {};
    if (auto is_new = put(hash, bytes); !is_new) return tl::unexpected(is_new.error());
    if (there != nullptr) there->insert(hash);
    return {};
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

/// Brings what answers requests out of a store, one request after the other.
class Puller {
 public:
  Puller(ObjectStore& from, Cache::Impl& to, const PullOptions& options)
      : from_(from),
        to_(to),
        options_(options),
        parcels_(from, report_.skipped),
        texts_(parcels_.objects()),
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
    report_.bytes = parcels_.objects().bytes();
    report_.added = arrived_.added;
    report_.present = arrived_.present;
    report_.skipped.insert(report_.skipped.end(), arrived_.skipped.begin(), arrived_.skipped.end());
    return std::move(report_);
  }

 private:
  Outcome pull_all_of(const Digest& request) {
    bool found = false;
    const auto hints = parcels_.hints_of(request);
    for (const auto& hint : hints) {
      const auto there = pull_one(hint, request);
      if (!there) return tl::unexpected(there.error());
      found |= *there;
    }
    if (!found) ++report_.missing;
    return {};
  }

  /// Whether it is here now.
  Result<bool> pull_one(const TakenHint& hint, const Digest& request) {
    auto here = is_here(hint.said.key, request);
    if (!here || *here) return here;
    auto read = parcels_.read(hint, request);
    if (!read) return tl::unexpected(std::move(read.error()));
    if (!*read) return false;
    auto& [picked, list, bytes] = **read;
    if (auto known = read_texts(list, picked); !known) return tl::unexpected(known.error());
    if (auto took = arrival_.take(std::move(picked)); !took) return tl::unexpected(took.error());
    return true;
  }

  /// A hint may name any entry.
  Result<bool> is_here(const Digest& key, const Digest& request) {
    auto here = answers(to_, key, request);
    return here == true ? arrival_.is_present(key) : here;
  }

  /// Only of those texts that the entry has. What was taken before is stored before its texts mean something else.
  Outcome read_texts(const std::string& list, const PickedUp& picked) {
    // Entries of one list follow each other.
    if (!list.empty() && list == texts_read_) return {};
    texts_read_ = list;
    // Its source is one of them.
    const auto texts = texts_.read_list(list, picked.entry.headers.size() + 1, texts_of(picked));
    if (texts_.contradicts(texts)) {
      if (auto finished = arrival_.finish(); !finished) return finished;
      texts_.forget_all();
    }
    texts_.add(texts);
    return {};
  }

  ObjectStore& from_;
  Cache::Impl& to_;
  const PullOptions& options_;
  PullReport report_;
  ImportReport arrived_;
  ParcelReader parcels_;
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
