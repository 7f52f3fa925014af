#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/program.h"
#include "source/directives.h"
#include "source/header_files.h"

namespace kiln {

/// Tells which texts of a program may ask for headers in ways that a scan does not show: through macros, in includes and in
/// conditions. NVRTC asks only once for a file that is there, so some of these questions show nowhere. But it asks for every
/// place at which it finds nothing, and it is known where each look-up may end.
///
/// All branches count as taken: that gives more than is asked for, never less. Where comments end has to be sure.
class UnseenQuestions {
 public:
  /// Of a program, whose source is given scanned, and of the headers that its compiler read. Borrows source and headers.
  UnseenQuestions(const Program& program, const HeaderText& source,
                  const std::vector<const HeaderText*>& headers);

  /// Whether they may search on behind a header that was found, or are in a language that no scan follows. Then nobody can tell
  /// how the compiler came to a path.
  [[nodiscard]] bool may_search_on() const noexcept { return may_search_on_; }

  /// Whether that is so, or names may be spelled by trigraphs, or NVRTC's own macros may come to questions of the program's by names
  /// that stand in no text.
  [[nodiscard]] bool are_beyond_guessing() const noexcept { return beyond_guessing_; }

  /// Whether one of the headers may ask in such a way for this neighbour of its own, by a name in quotes. NVRTC takes such a name
  /// from one literal as it stands, or from what `#` makes: no literal is joined with the next one, or read for its escapes.
  [[nodiscard]] bool may_ask(const HeaderText& header, std::string_view name) const;

  /// Whether one of the headers does the same wherever it lies and however often it is read: it quotes no neighbour, and has no
  /// `#pragma once`, which goes by the file.
  [[nodiscard]] bool is_alike_anywhere(const HeaderText& header) const;

 private:
  using Names = std::set<std::string, std::less<>>;
  using Users = std::unordered_map<std::string_view, std::vector<std::string_view>>;

  struct Text {
    bool asks = false;            ///< It asks in a way that a scan does not show.
    bool pastes = false;          ///< It names a macro that may come to anything.
    bool makes_literals = false;  ///< It may come to a literal that no text holds.
    bool uses_literals = false;   ///< It names a macro that may come to a literal of a macro's.
    Names literals = {};          ///< Of its own, where it asks.
  };

  // What all texts hold of the pieces of a question.
  struct Pieces {
    Words in_code;
    Words in_literals;
  };

  Pieces read(const Program& program, const HeaderText& source,
              const std::vector<const HeaderText*>& headers);
  void add(const HeaderText& header);
  void note_spellings(std::string_view text);
  void note_macros(const MacroBodies& macros);
  void spread_macros();
  void mark_texts(bool pastes_questions);
  [[nodiscard]] bool can_be_pasted_together(const Names& names, const Program& program) const;
  [[nodiscard]] bool is_led_to_by_the_compiler() const;
  static void spread(Names& names, const Users& users);
  [[nodiscard]] Users users_of_words() const;
  [[nodiscard]] bool may_be_pragma(std::string_view code) const;

  MacroBodies macros_;
  Names asking_;           ///< Macros that may come to `__has_include`,
  Names pasting_;          ///< to what no text holds,
  Names pragmatic_;        ///< to `_Pragma("once")`,
  Names making_literals_;  ///< to a literal that no text holds,
  Names using_literals_;   ///< and to one of these.
  Names literals_;
  Names led_to_;  ///< Of the program's macros, those that NVRTC's own may come to.
  std::unordered_map<const HeaderText*, Text> texts_;
  bool has_trigraphs_ = false;  ///< Which it has before C++17.
  bool may_search_on_ = false;
  bool beyond_guessing_ = false;
  bool pastes_ = false;
  bool holds_next_ = false;
};

}  // namespace kiln
