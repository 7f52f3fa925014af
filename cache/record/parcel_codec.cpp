#include "record/parcel_codec.h"

#include <cstddef>

#include "record/fields.h"

namespace kiln::storage {
namespace {

constexpr std::size_t object_name_bytes = 32;

constexpr auto signatures_fields = [](auto& fields, auto& signatures) {
  fields.list(Tag::signature, signatures, [&](auto& one) {
    fields.field(Tag::signature, one);
    fields.require(signatures.size() < most_signatures);
  });
};

constexpr auto parcel_fields = [](auto& fields, auto& parcel) {
  fields.version(Tag::parcel_version, 1);
  fields.field(Tag::entry_key, parcel.key);
  fields.field(Tag::material, parcel.material);
  fields.field(Tag::toolchain_identity, parcel.toolchain.identity);
  fields.field(Tag::toolchain_text, parcel.toolchain.text);
  fields.optional(Tag::dependencies_frame, parcel.dependencies_frame, {});
  fields.field(Tag::payload_frame, parcel.payload);
  fields.optional(Tag::kernels_frame, parcel.kernels_frame, {});
  signatures_fields(fields, parcel.signatures);
  fields.optional(Tag::text_list, parcel.text_list, {});
  fields.require(parcel.text_list.empty() || parcel.text_list.size() == object_name_bytes);
};

constexpr auto text_list_fields = [](auto& fields, auto& texts) {
  fields.version(Tag::text_list_version, 1);
  fields.list(Tag::text_digest, texts, [&](auto& text) {
    fields.field(Tag::text_digest, text.digest);
    fields.field(Tag::object, text.object);
    fields.require(text.object.size() == object_name_bytes);
  });
};

constexpr auto hint_fields = [](auto& fields, auto& hint) {
  fields.version(Tag::hint_version, 1);
  fields.field(Tag::entry_key, hint.key);
  fields.field(Tag::object, hint.object);
  fields.require(hint.object.size() == object_name_bytes);
  signatures_fields(fields, hint.signatures);
  fields.known(Tag::toolchain_identity, hint.needs, [&](auto& needs) {
    fields.field(Tag::toolchain_identity, needs.toolchain.identity);
    fields.field(Tag::toolchain_text, needs.toolchain.text);
    fields.optional(Tag::dependencies_frame, needs.dependencies_frame, {});
  });
  fields.optional(Tag::compile_us, hint.compile_us, 0);
};

}  // namespace

std::string encode_parcel(const Parcel& parcel) { return write_record(parcel, parcel_fields); }

std::string encode_text_list(const std::vector<ListedText>& texts) {
  return write_record(texts, text_list_fields);
}

std::string encode_hint(const ParcelHint& hint) { return write_record(hint, hint_fields); }

std::optional<Parcel> decode_parcel(std::string_view record) {
  return read_record<Parcel>(record, parcel_fields);
}

std::optional<std::vector<ListedText>> decode_text_list(std::string_view record) {
  return read_record<std::vector<ListedText>>(record, text_list_fields);
}

std::optional<ParcelHint> decode_hint(std::string_view record) {
  return read_record<ParcelHint>(record, hint_fields);
}

}  // namespace kiln::storage
