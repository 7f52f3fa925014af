#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/request.h"
#include "source/header_search.h"
#include "source/reading.h"

namespace kiln {

/// Whether a look-up is made in a header in quotes, so that its parent is the look-up that found that header.
[[nodiscard]] inline bool is_quoted_in_header(const Dependency& lookup) {
  return lookup.parent < Dependency::at_place;
}

/// Whether the compiler asked for this below the folder of the source, which no machine has. What it asks for in
/// `no_directory` is a question like any other.
[[nodiscard]] bool is_nowhere(const Reading& reading);

/// A header that makes a look-up, or the program's source.
struct Includer {
  const FoundHeader& header;
  const Reading* reading = nullptr;  ///< Where it lies on the disk.
};

/// Where a look-up led, as the compiler's own questions tell.
struct Walk {
  bool made = true;  ///< Whether all its questions were asked.
  FoundHeader found;
  const Reading* reading = nullptr;  ///< Of what was found on the disk.
  std::vector<const Reading*> questions;
};

/// All questions of a compile. Its look-ups can be followed through them. Borrows readings and search.
class AskedQuestions {
 public:
  AskedQuestions(const Readings& readings, const HeaderSearch& search);

  /// Where a look-up of `includer` led. A look-up that has a parent is a quoted one.
  [[nodiscard]] Walk follow(const Dependency& lookup, const Includer& includer) const;

  /// When a header was first read; 0 where it was not. REQUIRES: on the disk it was asked for.
  [[nodiscard]] std::uint32_t read_at(const FoundHeader& found) const;

  /// When `includer` made a look-up, as put_in_order() wants it. `includer` is nullptr for a look-up that any text may have
  /// made first.
  [[nodiscard]] std::uint64_t made_at(const Dependency& lookup, const Walk& walk,
                                      const FoundHeader* includer) const;

 private:
  [[nodiscard]] const Reading* asked(std::uint32_t root, const std::string& path) const;
  void ask_in_working_directory(const Dependency& lookup, const Includer& includer,
                                Walk& walk) const;
  bool ask(std::uint32_t root, const std::string& path, bool suffixed, Walk& walk,
           FoundHeader& header) const;

  const HeaderSearch& search_;
  const bool rooted_;
  std::unordered_map<std::string, const Reading*> asked_;  ///< By root and path.
  std::unordered_map<std::string_view, const Reading*> by_path_;
  std::unordered_map<std::string_view, std::uint32_t> embedded_read_;
};

}  // namespace kiln
