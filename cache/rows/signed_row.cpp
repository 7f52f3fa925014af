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

/// How large the records are of which these signatures speak; nothing where no key made one.
std::optional<std::uint64_t> signed_bytes(const std::vector<std::string>& signatures,
                                          const TrustedKeys& keys) {
  std::optional<std::uint64_t> most;
  for (const auto& signature : signatures) {
    const auto claim = trusted_claim(signature, keys);
    if (claim) most = std::max(most.value_or(0), claim->artifact_bytes + claim->dependencies_bytes);
  }
  return most;
}

std::optional<RawEntry> read_row_of(Connection& connection, std::int64_t id, const Digest& key) {
  Statement row(connection, "SELECT " KILN_ENTRY_COLUMNS " FROM entries WHERE id = ? AND key = ?",
                id, key);
  const auto there = row.next();
  if (there == true) return read_row(connection, row, nullptr);
  return there ? std::optional(RawEntry{.id = id, .key = {}, .toolchain = {}}) : std::nullopt;
}

bool is_too_long(Connection& connection) { return connection.last_code() == SQLITE_TOOBIG; }

}  // namespace

std::optional<RawEntry> read_signed_row(Connection& connection, std::int64_t id, const Digest& key,
                                        const TrustedKeys& keys) {
  RawEntry bare{.id = id, .key = key, .toolchain = {}};
  auto signatures = read_signatures(connection, key, keys);
  if (!signatures) return std::nullopt;
  const auto bytes = signed_bytes(*signatures, keys);
  if (!bytes) return bare;
  auto kernels = read_kernels(connection, key);
  if (!kernels && !is_too_long(connection)) return std::nullopt;
  const LongestValue longest(connection, *bytes);
  auto row = read_row_of(connection, id, key);
  if (!row) return is_too_long(connection) ? std::optional(bare) : std::nullopt;
  row->kernels_frame = std::move(kernels).value_or(std::string());
  row->signatures = std::move(*signatures);
  return row;
}

}  // namespace kiln::storage
