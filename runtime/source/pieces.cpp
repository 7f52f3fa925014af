#include "source/pieces.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <vector>

#include "source/compilers_macros.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view asks_for_next_header = "__has_include_next";
constexpr std::array<std::string_view, 3> time_tellers{"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::size_t shortest_piece = 2;
constexpr std::size_t shortest_plain_half = 6;
constexpr std::size_t shortest_end = 3;
// Words that NVRTC's own macros come to: `__volatile__`, `__host__`, `__EDG_SIZE_TYPE__` and the like.
constexpr std::string_view always_there =
    "volatile static inline unsigned signed long int short char __attribute__ __declspec __thread "
    "__inline__";
constexpr std::size_t few_letters = 3;
constexpr std::size_t short_name = 4;  // May be made of letters alone.

// How few single letters this name takes, beside those pieces. The whole name is no piece of itself.
std::size_t letters_to_paste(std::string_view name, const Words& pieces) {
  std::vector<std::size_t> letters(name.size() + 1);
  for (std::size_t end = 1; end <= name.size(); ++end) {
    // Numbers come from the compiler's own macros, too.
    const bool is_digit = name[end - 1] >= '0' && name[end - 1] <= '9';
    letters[end] = letters[end - 1] + (is_digit ? 0 : 1);
    for (std::size_t begin = 0; begin + shortest_piece <= end; ++begin) {
      const auto piece = name.substr(begin, end - begin);
      if (letters[begin] < letters[end] && piece != name && pieces.contains(piece))
        letters[end] = letters[begin];
    }
  }
  return letters[name.size()];
}

// Whether a piece begins the name and one ends it, each of at least three characters: programs of all kinds have `__`.
bool has_both_ends(std::string_view name, const Words& pieces) {
  const auto is_beginning = [&](const std::string& piece) {
    return piece.size() >= shortest_end && name.starts_with(piece);
  };
  const auto is_end = [&](const std::string& piece) {
    return piece.size() >= shortest_end && name.ends_with(piece);
  };
  return std::any_of(pieces.begin(), pieces.end(), is_beginning) &&
         std::any_of(pieces.begin(), pieces.end(), is_end);
}

// Nobody has such a word but to make this question of it, by however many letters: "__has_", but not "has_".
bool is_plain_half(std::string_view piece, std::string_view question) {
  const bool of_longer_alone = asks_for_header.find(piece) == std::string_view::npos;
  return of_longer_alone == (question == asks_for_next_header) &&
         (piece.starts_with("__has") ||
          (piece.size() >= shortest_plain_half && piece.find('_') != std::string_view::npos));
}

// The pairs of letters that pieces of these names begin with; few words of a text do.
class Beginnings {
 public:
  explicit Beginnings(const Words& names) {
    for (const auto& name : names) {
      for (std::size_t at = 0; at < name.size(); ++at) pairs_.set(pair(name.substr(at, 2)));
    }
  }

  [[nodiscard]] bool has(std::string_view word) const {
    return word.size() < 2 || pairs_.test(pair(word));
  }

 private:
  static std::size_t pair(std::string_view word) {
    const auto first = static_cast<unsigned char>(word[0]);
    return word.size() < 2 ? first : 256U * first + static_cast<unsigned char>(word[1]);
  }

  std::bitset<65'536> pairs_;
};

bool can_be_asked(std::string_view question, const Words& in_code, const Words& in_literals) {
  auto all = in_code;
  all.insert(in_literals.begin(), in_literals.end());
  if (can_be_pasted(question, all)) return true;
  // Everybody asks for headers, and many have something that is called next.
  auto rare = in_code;
  rare.erase(std::string(asks_for_header));
  return std::any_of(rare.begin(), rare.end(),
                     [&](const auto& piece) { return is_plain_half(piece, question); }) ||
         can_be_pasted_with_letters(question, rare);
}

}  // namespace

bool is_time_teller(std::string_view word) { return is_one_of(word, time_tellers); }

void note_time_piece(std::string_view word, Words& pieces) {
  const auto holds = [&](std::string_view name) {
    return name.find(word) != std::string_view::npos;
  };
  if (std::any_of(time_tellers.begin(), time_tellers.end(), holds)) pieces.emplace(word);
}

// Any piece of the shorter name is one of the longer.
void note_question_piece(std::string_view word, Words& pieces) {
  if (word.size() >= shortest_piece && asks_for_next_header.find(word) != std::string_view::npos)
    pieces.emplace(word);
}

bool can_ask(const Words& in_code, const Words& in_literals) {
  return can_be_asked(asks_for_header, in_code, in_literals) ||
         can_ask_for_next(in_code, in_literals);
}

bool can_ask_for_next(const Words& in_code, const Words& in_literals) {
  return can_be_asked(asks_for_next_header, in_code, in_literals);
}

bool can_be_pasted(std::string_view name, const Words& pieces) {
  return pieces.contains(name.substr(1)) || pieces.contains(name.substr(0, name.size() - 1)) ||
         letters_to_paste(name, pieces) == 0;
}

bool can_be_pasted_to_teller(std::string_view name, const Words& pieces) {
  return can_be_pasted(name, pieces) ||
         (has_both_ends(name, pieces) && letters_to_paste(name, pieces) <= few_letters);
}

bool can_be_pasted_with_letters(std::string_view name, const Words& pieces) {
  return name.size() <= short_name || letters_to_paste(name, pieces) <= few_letters;
}

bool can_tell_time(const Words& pieces) {
  return std::any_of(time_tellers.begin(), time_tellers.end(),
                     [&](std::string_view name) { return can_be_pasted_to_teller(name, pieces); });
}

void add_pieces(std::string_view code, const Words& names, Words& pieces) {
  const Beginnings beginnings(names);
  const auto add = [&](std::string_view word) {
    const auto is_piece_of = [&](const std::string& name) {
      return word.size() < name.size() && name.find(word) != std::string::npos;
    };
    if (beginnings.has(word) && std::any_of(names.begin(), names.end(), is_piece_of))
      pieces.emplace(word);
    return false;
  };
  static_cast<void>(find_word(always_there, add));
  static_cast<void>(find_word(code, [&](std::string_view word) {
    if (is_compilers_macro(word)) static_cast<void>(find_word(body_of_compilers_macro(word), add));
    return add(word);
  }));
}

}  // namespace kiln
