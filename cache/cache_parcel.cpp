#include "cache_parcel.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "signing/signature.h"

namespace kiln {
namespace {

/// What a parcel has beside the records that its claim knows the sizes of.
constexpr std::uint64_t most_bytes_beside = std::uint64_t{16} << 20;
/// Nobody believes that a compile took longer: an hour.
constexpr std::uint64_t most_compile_us = 3'600'000'000;
/// So many of a hint's signatures are checked that a trusted key is said to have made. Each check costs a tenth of a millisecond,
/// also where somebody wrote them there to have them checked.
constexpr int most_checks = 4;

}  // namespace

std::string name_of(std::string_view hash) {
  std::string name;
  for (const char byte : hash) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return name;
}

storage::RawEntry row_of(storage::Parcel parcel) {
  return {.key = parcel.key,
          .toolchain = parcel.toolchain.identity,
          .dependencies_id = parcel.dependencies_frame.empty() ? std::nullopt : std::optional(0),
          .material = std::move(parcel.material),
          .payload = storage::ImageBuffer(std::move(parcel.payload)),
          .toolchain_text = std::move(parcel.toolchain.text),
          .dependencies_frame = std::move(parcel.dependencies_frame),
          .kernels_frame = std::move(parcel.kernels_frame),
          .signatures = std::move(parcel.signatures)};
}

Result<std::optional<TakenHint>> take_hint(const StoreHint& hint, const TrustedKeys& keys) {
  if (!hint.record) return tl::unexpected(hint.record.error());
  auto said = hint.record->size() <= storage::most_hint_bytes ? storage::decode_hint(*hint.record)
                                                              : std::nullopt;
  if (!said || name_of(said->object) != hint.object)
    return fail(ErrorCode::cache_unusable, "is damaged");
  TakenHint taken{std::move(*said)};
  taken.said.compile_us = std::min(taken.said.compile_us, most_compile_us);
  if (keys.empty()) return std::optional(std::move(taken));
  int checks = 0;
  for (const auto& signature : taken.said.signatures) {
    if (!storage::names_a_key_of(keys, signature)) continue;
    if (++checks > most_checks) break;
    taken.claim = storage::trusted_claim(signature, keys);
    if (!taken.claim) continue;
    taken.most_bytes =
        std::min(most_object_bytes,
                 taken.claim->dependencies_bytes + taken.claim->artifact_bytes + most_bytes_beside);
    return std::optional(std::move(taken));
  }
  return std::optional<TakenHint>();
}

}  // namespace kiln
