#include "record/witness_codec.h"

#include "record/fields.h"

namespace kiln::storage {
namespace {

constexpr auto stamps_fields = [](auto& fields, auto& stamps) {
  fields.version(Tag::witness_version, 1);
  fields.list(Tag::stamp_device, stamps, [&](auto& stamp) {
    fields.field(Tag::stamp_device, stamp.device);
    fields.field(Tag::stamp_inode, stamp.inode);
    fields.field(Tag::stamp_size, stamp.size);
    fields.field(Tag::stamp_modified_ns, stamp.modified_ns);
    fields.field(Tag::stamp_changed_ns, stamp.changed_ns);
  });
};

}  // namespace

std::string encode_stamps(const std::vector<FileStamp>& stamps) {
  return write_record(stamps, stamps_fields);
}

std::optional<std::vector<FileStamp>> decode_stamps(std::string_view record) {
  return read_record<std::vector<FileStamp>>(record, stamps_fields);
}

}  // namespace kiln::storage
