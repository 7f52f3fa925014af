#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "directives.h"
#include "header_files.h"
#include "kiln/program.h"

namespace kiln {

/// What the texts of a program may ask for in ways that a scan of them does not show: through macros, in includes and in
/// conditions. NVRTC asks only once for what is there, so that some of it shows nowhere at all; but it asks for every
/// place at which it finds nothing, and where each look-up may end is known.
///
/// Comments count as text, and all branches as taken: more than is asked for, never less.
class UnseenQuestions {
 public:
  /// Of a program, and of the headers that its compiler read, which must outlive this.
  UnseenQuestions(const Program& program, const std::vector<const HeaderText*>& headers);

  /// Whether the texts may spell out whole paths, or search on behind a header that was found: then nobody can tell by
  /// which way the compiler came to a place.
  [[nodiscard]] bool may_ask_for_places() const noexcept { return may_ask_for_places_; }

  /// Whether one of the headers may ask for another of this name in such a way.
  [[nodiscard]] bool may_ask(const HeaderText& header, std::string_view name) const;

  /// Whether one of the headers does the same wherever it lies, and however often: it has no neighbours, and no
  /// `#pragma once`, which goes by the file.
  [[nodiscard]] bool is_alike_anywhere(const HeaderText& header) const;

 private:
  using Names = std::set<std::string, std::less<>>;

  struct Text {
    std::string joined;   ///< Without its continued lines.
    bool asks = false;    ///< In any way that a scan does not show.
    bool pastes = false;  ///< So that it may ask for anything.
  };

  void add(const HeaderText& header);
  void note_macros(const MacroBodies& macros);
  void spread(Names& names) const;

  const std::shared_ptr<const HeaderText> source_;
  MacroBodies macros_;
  std::string bodies_;  ///< Of all macros.
  Names asking_;        ///< Macros that may come to `__has_include`,
  Names pasting_;       ///< to what no text holds,
  Names pragmatic_;     ///< and to `_Pragma("once")`.
  std::unordered_map<const HeaderText*, Text> texts_;
  bool may_ask_for_places_ = false;
};

}  // namespace kiln
