#include "rows/signed_row.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rows/kernel_list.h"
#include "rows/signature_list.h"
#include "signing/signature.h"

namespace kiln::storage {
namespace {

/// All of the row but its payload. Without a key where there is no such row.
std::optional<RawEntry> read_small_columns(Connection& connection, std::int64_t id,
                                           const Digest& key) {
  Statement row(connection,
                "SELECT id, key, toolchain, dependencies, compile_us, material, x'', "
                "toolchain_text, image_bytes FROM entries WHERE id = ? AND key = ?",
                id, key);
  const auto there = row.next();
  if (there == true) return read_row(connection, row, nullptr);
  return there ? std::optional(RawEntry{.id = id, .key = {}, .toolchain = {}}) : std::nullopt;
}

/// How large the record of the artifact is of which a trusted signature of this row's speaks; nothing where none does.
std::optional<std::uint64_t> signed_bytes(const RawEntry& row,
                                          const std::vector<std::string>& signatures,
                                          const TrustedKeys& keys) {
  std::optional<std::uint64_t> most;
  const auto request = hash_of(row.material);
  for (const auto& signature : signatures) {
    const auto claim = trusted_claim(signature, keys);
    if (claim && claim->request == request && claim->toolchain == row.toolchain)
      most = std::max(most.value_or(0), claim->artifact_bytes);
  }
  return most;
}

bool read_payload(Connection& connection, RawEntry& entry) {
  Statement row(connection, "SELECT payload FROM entries WHERE id = ?", entry.id);
  const auto there = row.next();
  if (there == true) entry.payload = ImageBuffer::copy_of(row.blob(0), entry.image_bytes);
  return there.has_value();
}

bool is_too_long(Connection& connection) { return connection.last_code() == SQLITE_TOOBIG; }

}  // namespace

std::optional<RawEntry> read_signed_row(Connection& connection, std::int64_t id, const Digest& key,
                                        const TrustedKeys& keys) {
  const auto bare = [&] { return RawEntry{.id = id, .key = key, .toolchain = {}}; };
  const auto bare_if_too_long = [&] {
    return is_too_long(connection) ? std::optional(bare()) : std::nullopt;
  };
  auto signatures = read_signatures(connection, key, keys);
  if (!signatures) return std::nullopt;
  if (signatures->empty()) return bare();
  auto row = read_small_columns(connection, id, key);
  if (!row) return bare_if_too_long();
  if (!row->key) return row;
  const auto bytes = signed_bytes(*row, *signatures, keys);
  if (!bytes) return bare();
  auto kernels = read_kernels(connection, key);
  if (!kernels && !is_too_long(connection)) return std::nullopt;
  const LongestValue longest(connection, *bytes);
  if (!read_payload(connection, *row)) return bare_if_too_long();
  row->kernels_frame = std::move(kernels).value_or(std::string());
  row->signatures = std::move(*signatures);
  return row;
}

}  // namespace kiln::storage
