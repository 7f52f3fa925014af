#include "cache_parcel.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "signing/signature.h"

namespace kiln {
namespace {

/// What a parcel has beside the records that its claim knows the sizes of.
constexpr std::uint64_t most_bytes_beside = std::uint64_t{16} << 20;

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
          .payload = std::move(parcel.payload),
          .toolchain_text = std::move(parcel.toolchain.text),
          .dependencies_frame = std::move(parcel.dependencies_frame),
          .kernels_frame = std::move(parcel.kernels_frame),
          .signatures = std::move(parcel.signatures)};
}

Result<std::optional<TakenHint>> take_hint(const StoreHint& hint, const TrustedKeys& keys) {
  if (!hint.record) return tl::unexpected(hint.record.error());
  auto said = storage::decode_hint(*hint.record);
  if (!said || name_of(said->object) != hint.object)
    return fail(ErrorCode::cache_unusable, "is damaged");
  TakenHint taken{std::move(*said)};
  if (keys.empty()) return std::optional(std::move(taken));
  for (const auto& signature : taken.said.signatures) {
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
