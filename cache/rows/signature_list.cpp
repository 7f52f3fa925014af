#include "rows/signature_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

#include "file/schema.h"
#include "record/signature_codec.h"

namespace kiln::storage {
namespace {

constexpr std::int64_t most_signatures = 16;
constexpr std::int64_t most_record_bytes = 65'536;

std::optional<std::string> signer_of(const std::string& record) {
  const auto signature = decode_signature(record);
  auto claim = signature ? decode_claim(signature->claim) : std::nullopt;
  return claim ? std::optional(std::move(claim->signer)) : std::nullopt;
}

bool write_signature(Connection& connection, const Digest& key, const std::string& record) {
  const auto signer = signer_of(record);
  return !signer ||
         connection.run("INSERT OR REPLACE INTO signatures(key, signer, record) VALUES(?, ?, ?)",
                        key, *signer, Blob{record});
}

/// Each once: several keys may have one name.
std::set<std::string> names_of(const TrustedKeys& keys) {
  std::set<std::string> names;
  for (const auto& key : keys.keys()) names.insert(key.name);
  return names;
}

std::optional<std::vector<std::string>> read_all(Connection& connection, const Digest& key) {
  std::vector<std::string> records;
  Statement row(connection,
                "SELECT record FROM signatures WHERE key = ? AND length(record) <= ? "
                "ORDER BY signer LIMIT ?",
                key, most_record_bytes, most_signatures);
  const bool read = row.for_each([&] { records.emplace_back(row.blob(0)); });
  return read ? std::optional(std::move(records)) : std::nullopt;
}

}  // namespace

bool write_signatures(Connection& connection, const Digest& key,
                      const std::vector<std::string>& records) {
  if (!records.empty() && !create_table(connection, LaterTable::signatures)) return false;
  const auto there = has_table(connection, LaterTable::signatures);
  if (there != true) return there.has_value();
  if (!connection.run("DELETE FROM signatures WHERE key = ?", key)) return false;
  const auto surplus = records.size() - std::min<std::size_t>(records.size(), most_signatures);
  for (const auto& record : std::span(records).subspan(surplus)) {
    if (!write_signature(connection, key, record)) return false;
  }
  return true;
}

bool remove_signatures(Connection& connection, const Digest& key) {
  return write_signatures(connection, key, {});
}

bool remove_signatures_of_none(Connection& connection) {
  const auto there = has_table(connection, LaterTable::signatures);
  if (there != true) return there.has_value();
  return connection.run("DELETE FROM signatures WHERE key NOT IN (SELECT key FROM entries)");
}

std::optional<std::vector<std::string>> read_signatures(Connection& connection, const Digest& key,
                                                        const TrustedKeys& keys) {
  std::vector<std::string> records;
  const auto there = has_table(connection, LaterTable::signatures);
  if (there != true) return there ? std::optional(records) : std::nullopt;
  if (keys.empty()) return read_all(connection, key);
  for (const auto& signer : names_of(keys)) {
    Statement row(connection,
                  "SELECT record FROM signatures WHERE key = ? AND signer = ? AND "
                  "length(record) <= ?",
                  key, signer, most_record_bytes);
    const auto found = row.next();
    if (!found) return std::nullopt;
    if (*found) records.emplace_back(row.blob(0));
  }
  return records;
}

}  // namespace kiln::storage
