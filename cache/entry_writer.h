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
};

/// `texts` are those of the entry that the cache does not hold yet.
/// Errors: io_failed for something too large to store, invalid_argument for a text that has another
/// digest than it says.
[[nodiscard]] Result<PreparedEntry> prepare(const NewEntry& entry, const std::vector<Text>& texts);

/// Writes an entry's rows inside the caller's transaction. Borrows what it is made from. What a
/// function cannot do, it tells by false or nothing; the connection then knows why.
class EntryWriter {
 public:
  EntryWriter(Connection& connection, FrameDecoder& decoder) noexcept
      : connection_(connection), decoder_(decoder) {}

  [[nodiscard]] bool write(const NewEntry& entry, const PreparedEntry& prepared);

 private:
  bool write_text(const PreparedText& text);
  std::optional<std::int64_t> write_dependencies(const PreparedEntry& prepared);
  bool write_witness(const Witness& witness, std::int64_t dependencies, std::string_view frame);
  bool write_row(const NewEntry& entry, const PreparedEntry& prepared,
                 std::optional<std::int64_t> dependencies);

  Connection& connection_;
  FrameDecoder& decoder_;
};

}  // namespace kiln::storage
