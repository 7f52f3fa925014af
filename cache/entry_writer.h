#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame.h"
#include "kiln/cache.h"
#include "sqlite.h"

namespace kiln::storage {

struct PreparedText {
  Digest digest;
  std::size_t raw_bytes = 0;
  std::string frame;
};

/// What an entry's rows will hold, made before any lock is taken: compressing is the long part.
struct PreparedEntry {
  Digest key;
  Digest request;
  std::string material;
  std::string payload;
  Digest dependencies;
  std::string dependencies_material;
  std::string dependencies_frame;
  std::string witness_frame;
  std::vector<PreparedText> texts;

  /// What it will take up in the database, but for the overhead of pages.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// `texts` are those of the entry that the cache does not hold yet.
/// Errors: io_failed for something too large to store, invalid_argument for a text that has another
/// digest than it says.
[[nodiscard]] Result<PreparedEntry> prepare(const NewEntry& entry, const std::vector<Text>& texts);

/// Texts alone. Errors: as above.
[[nodiscard]] Result<std::vector<PreparedText>> prepare_texts(const std::vector<Text>& texts);

/// Writes an entry's rows inside the caller's transaction. Borrows what it is made from. What a
/// function cannot do, it tells by false or nothing; the connection then knows why.
class EntryWriter {
 public:
  explicit EntryWriter(Connection& connection) noexcept : connection_(connection) {}

  [[nodiscard]] bool write_texts(const std::vector<PreparedText>& texts);

  /// Gives the entry's id. Its texts come first, for the dependency set keeps those that are there.
  [[nodiscard]] std::optional<std::int64_t> write(const NewEntry& entry,
                                                  const PreparedEntry& prepared);

 private:
  bool write_text(const PreparedText& text);
  std::optional<std::int64_t> write_dependencies(const NewEntry& entry,
                                                 const PreparedEntry& prepared);
  bool link_texts(const DependencySet& dependencies, std::int64_t id);
  bool write_witness(const Witness& witness, std::int64_t dependencies, std::string_view frame);
  std::optional<std::int64_t> write_row(const NewEntry& entry, const PreparedEntry& prepared,
                                        std::optional<std::int64_t> dependencies);

  Connection& connection_;
};

}  // namespace kiln::storage
