#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/sqlite.h"
#include "kiln/cache.h"
#include "record/frame.h"
#include "rows/entry_reader.h"
#include "rows/proof.h"

namespace kiln::storage {

struct PreparedText {
  Digest digest;
  std::size_t raw_bytes = 0;
  std::string frame;
};

/// What an entry's rows will hold. It is made before anybody takes a lock, since compressing takes the longest.
struct PreparedEntry {
  Digest key;
  Digest request;
  Digest toolchain;
  Digest source;
  std::uint64_t image_bytes = 0;
  std::uint64_t kernels = 0;
  std::uint64_t compile_us = 0;
  std::int64_t created = 0;
  std::string arch;
  std::string kind;
  std::string toolchain_text;
  std::string program;
  std::string material;
  std::string payload;
  Digest dependencies;
  std::string dependencies_frame;  ///< Empty for an entry without dependencies.
  std::vector<Digest> headers;     ///< The headers that its look-ups found.
  Digest roots;
  std::string witness_frame;  ///< Empty where there is no witness.
  std::string kernels_frame;  ///< Empty where nobody has read the image.
  std::vector<std::string> signatures;
  std::vector<PreparedText> texts;
  std::vector<Digest> relied_on;  ///< Texts that the database held when this was prepared.

  /// How much room it will take in the database, but for the overhead of pages.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// The headers that the look-ups found, each once, in the order of their digests.
[[nodiscard]] std::vector<Digest> headers_of(const DependencySet& dependencies);

/// Whether an image is stored smaller, or as it is.
enum class Images { compressed, plain };

/// `texts` are those texts of the entry that the cache does not hold yet.
/// With a `key`, it is signed, unless a text of it is not given. Errors: io_failed for something too large to store,
/// invalid_argument for a text that has another digest than it says.
[[nodiscard]] Result<PreparedEntry> prepare(const NewEntry& entry, const std::vector<Text>& texts,
                                            Images images, const SigningKey& key);

/// Texts alone. Errors: as above.
[[nodiscard]] Result<std::vector<PreparedText>> prepare_texts(const std::vector<Text>& texts);

/// Prepares an entry of another database: checks it throughout, takes its frames as they are, and its columns from what
/// the frames say. It has no texts and no witness. Nothing for a damaged one. Who asks for its `contents` has a key.
[[nodiscard]] std::optional<PreparedEntry> prepare_again(RawEntry row,
                                                         const MayDecode& may_decode = {},
                                                         Contents* contents = nullptr);

/// Prepares a text of another database: checks it and takes its frame as it is. Nothing for a damaged one.
[[nodiscard]] std::optional<PreparedText> prepare_again(const Digest& digest,
                                                        std::string_view frame);

/// Whether the database holds this text; nothing where SQLite could not tell.
[[nodiscard]] std::optional<bool> has_text(Connection& connection, const Digest& digest);

/// Whether the database holds this text undamaged; nothing where SQLite could not tell.
[[nodiscard]] std::optional<bool> has_sound_text(Connection& connection, const Digest& digest);

/// Writes entries' rows inside the caller's transaction. Gives false or nothing where SQLite refused something; the
/// connection then knows why.
class EntryWriter {
 public:
  explicit EntryWriter(Connection& connection) noexcept : connection_(connection) {}

  [[nodiscard]] bool write_texts(const std::vector<PreparedText>& texts);

  /// Gives the entry's id. Write its texts first: the dependency set keeps only texts that are there.
  [[nodiscard]] std::optional<std::int64_t> write(const PreparedEntry& entry);

 private:
  bool write_text(const PreparedText& text);
  std::optional<std::int64_t> write_dependencies(const PreparedEntry& entry);
  bool link_texts(const std::vector<Digest>& headers, std::int64_t dependencies);
  bool write_witness(const PreparedEntry& entry, std::int64_t dependencies);
  std::optional<std::int64_t> write_row(const PreparedEntry& entry,
                                        std::optional<std::int64_t> dependencies);

  Connection& connection_;
};

}  // namespace kiln::storage
