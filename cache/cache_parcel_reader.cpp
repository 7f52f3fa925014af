#include "cache_parcel_reader.h"

#include <cstddef>
#include <utility>

#include "record/parcel_codec.h"

namespace kiln {

namespace {

/// So many hints are read for one: others may have put any number there.
constexpr std::size_t most_hints_read = 1'000;
/// A store that gives so much which leads to nothing is left.
constexpr std::uint64_t most_wasted_bytes = std::uint64_t{1} << 30;

}  // namespace

std::vector<TakenHint> ParcelReader::hints_of(const Digest& request) {
  std::vector<TakenHint> taken;
  const auto hints = store_.hints(request, most_hints_read + 1);
  if (!hints) skipped_.push_back({"request", request.hex(), hints.error().message});
  for (std::size_t at = 0; hints && at < hints->size() && taken.size() < most_of_a_request; ++at) {
    if (at == most_hints_read) {
      skipped_.push_back({"request", request.hex(), "has more hints than are read"});
      break;
    }
    const auto& hint = (*hints)[at];
    // What nobody signed shall not stand in the way of what somebody did.
    auto one = take_hint(hint, store_.trusted_keys());
    if (!one) skipped_.push_back({"hint", hint.object, std::move(one.error().message)});
    if (one && *one) taken.push_back(std::move(**one));
  }
  return taken;
}

Result<std::optional<ReadParcel>> ParcelReader::read(const TakenHint& hint, const Digest& request) {
  const auto before = objects_.bytes();
  auto parcel = examine_parcel(hint, request);
  if (!parcel) wasted_bytes_ += objects_.bytes() - before;
  if (wasted_bytes_ <= most_wasted_bytes) return parcel;
  return fail(ErrorCode::cache_unusable,
              "the store is given up: more than 1 GiB of it led to no entry; somebody has written "
              "there what kiln has not");
}

std::optional<ReadParcel> ParcelReader::examine_parcel(const TakenHint& hint,
                                                       const Digest& request) {
  const auto& object = hint.said.object;
  const auto record = objects_.read(object, hint.most_bytes);
  if (!record) return std::nullopt;
  auto parcel = storage::decode_parcel(*record);
  if (!parcel || parcel->key != hint.said.key || digest_of(parcel->material) != request) {
    objects_.refuse(name_of(object), "is not the entry that the store says it is");
    return std::nullopt;
  }
  auto list = std::exchange(parcel->text_list, {});
  const bool tells_kernels = !parcel->kernels_frame.empty();
  auto picked =
      examine(row_of(std::move(*parcel)), WithContents::yes, store_.trusted_keys(), skipped_);
  if (!picked) return std::nullopt;
  if (tells_kernels && picked->entry.kernels_frame.empty()) {
    objects_.refuse(name_of(object), "tells kernels that are not those of its image");
    return std::nullopt;
  }
  picked->entry.compile_us = hint.said.compile_us;
  return ReadParcel{std::move(*picked), std::move(list), record->size()};
}

}  // namespace kiln
