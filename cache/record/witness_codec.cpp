#include "record/witness_codec.h"

#include "record/fields.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t witness_version = 1;

}  // namespace

std::string encode_stamps(const std::vector<FileStamp>& stamps) {
  FieldWriter out;
  out.number(Tag::witness_version, witness_version);
  for (const FileStamp& stamp : stamps) {
    out.number(Tag::stamp_device, stamp.device);
    out.number(Tag::stamp_inode, stamp.inode);
    out.number(Tag::stamp_size, stamp.size);
    out.number(Tag::stamp_modified_ns, static_cast<std::uint64_t>(stamp.modified_ns));
    out.number(Tag::stamp_changed_ns, static_cast<std::uint64_t>(stamp.changed_ns));
  }
  return out.take();
}

std::optional<std::vector<FileStamp>> decode_stamps(std::string_view record) {
  FieldReader in(record);
  if (in.number(Tag::witness_version) != witness_version) return std::nullopt;
  std::vector<FileStamp> stamps;
  while (in.at(Tag::stamp_device)) {
    FileStamp stamp;
    stamp.device = in.number(Tag::stamp_device);
    stamp.inode = in.number(Tag::stamp_inode);
    stamp.size = in.number(Tag::stamp_size);
    stamp.modified_ns = static_cast<std::int64_t>(in.number(Tag::stamp_modified_ns));
    stamp.changed_ns = static_cast<std::int64_t>(in.number(Tag::stamp_changed_ns));
    stamps.push_back(stamp);
  }
  if (!in.finished()) return std::nullopt;
  return stamps;
}

}  // namespace kiln::storage
