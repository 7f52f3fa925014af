#include "rows/kernel_list.h"

#include "file/schema.h"
#include "record/artifact_codec.h"
#include "rows/entry_reader.h"

namespace kiln::storage {

bool write_kernels(Connection& connection, const Digest& key, std::string_view frame) {
  if (!create_table(connection, LaterTable::kernels)) return false;
  const auto there = has_table(connection, LaterTable::kernels);
  if (there != true) return there.has_value();
  return connection.run(
      "INSERT INTO kernels(key, frame) VALUES(?, ?) "
      "ON CONFLICT(key) DO UPDATE SET frame = excluded.frame",
      key, Blob{frame});
}

bool remove_kernels(Connection& connection, const Digest& key) {
  const auto there = has_table(connection, LaterTable::kernels);
  if (there != true) return there.has_value();
  return connection.run("DELETE FROM kernels WHERE key = ?", key);
}

bool remove_kernels_of_none(Connection& connection) {
  const auto there = has_table(connection, LaterTable::kernels);
  if (there != true) return there.has_value();
  return connection.run("DELETE FROM kernels WHERE key NOT IN (SELECT key FROM entries)");
}

std::optional<std::string> read_kernels(Connection& connection, const Digest& key) {
  const auto table = has_table(connection, LaterTable::kernels);
  if (table != true) return table ? std::optional(std::string()) : std::nullopt;
  Statement row(connection, "SELECT frame FROM kernels WHERE key = ?", key);
  const auto there = row.next();
  if (!there) return std::nullopt;
  return std::string(*there ? row.blob(0) : std::string_view());
}

std::optional<std::vector<ListedKernel>> kernels_of(std::string_view frame, const Digest& key) {
  const auto record = decode_frame(frame, kernels_owner(key));
  return record ? decode_kernels(*record) : std::nullopt;
}

FrameOwner kernels_owner(const Digest& key) noexcept { return {FrameOwner::Table::kernels, key}; }

}  // namespace kiln::storage
