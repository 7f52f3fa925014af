// Input: which record (u8), then the record. What decodes has one spelling, so it encodes to itself.

#include "fuzz.h"
#include "kiln/request.h"
#include "record/artifact_codec.h"
#include "record/parcel_codec.h"
#include "record/signature_codec.h"
#include "record/witness_codec.h"
#include "remote/remote_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln;
  fuzz::Input input(fuzz::view(data, size));
  const std::uint64_t which = input.number(1) % 12;
  const std::string_view record = input.rest();
  if (which == 0) {
    const auto artifact = storage::decode_artifact(storage::ImageBuffer(std::string(record)));
    fuzz::require(!artifact || storage::encode_artifact(*artifact) == record, "artifact");
  } else if (which == 1) {
    const auto request = Request::from_material(record);
    fuzz::require(!request || request->material() == record, "request");
  } else if (which == 2) {
    const auto set = DependencySet::from_material(record);
    fuzz::require(!set || set->material() == record, "dependencies");
  } else if (which == 3) {
    const auto stamps = storage::decode_stamps(record);
    fuzz::require(!stamps || storage::encode_stamps(*stamps) == record, "stamps");
  } else if (which == 4) {
    const auto kernels = storage::decode_kernels(record);
    fuzz::require(!kernels || storage::encode_kernels(*kernels) == record, "kernels");
  } else if (which == 5) {
    const auto claim = storage::decode_claim(record);
    fuzz::require(!claim || storage::encode_claim(*claim) == record, "claim");
  } else if (which == 7) {
    const auto parcel = storage::decode_parcel(record);
    fuzz::require(!parcel || storage::encode_parcel(*parcel) == record, "parcel");
  } else if (which == 8) {
    const auto texts = storage::decode_text_list(record);
    fuzz::require(!texts || storage::encode_text_list(*texts) == record, "list of texts");
  } else if (which == 9) {
    const auto hint = storage::decode_hint(record);
    fuzz::require(!hint || storage::encode_hint(*hint) == record, "hint");
  } else if (which == 10) {
    const auto call = wire::decode<remote::Call>(record);
    fuzz::require(!call || wire::encode(*call) == record, "call of kiln-remote");
  } else if (which == 11) {
    const auto answer = wire::decode<Result<std::vector<remote::WireHint>>>(record);
    fuzz::require(!answer || wire::encode(*answer) == record, "answer of kiln-remote");
  } else {
    const auto signature = storage::decode_signature(record);
    fuzz::require(!signature || storage::encode_signature(*signature) == record, "signature");
  }
  return 0;
}
