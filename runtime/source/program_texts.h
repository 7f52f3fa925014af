#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "source/directives.h"
#include "source/header_files.h"

namespace kiln {

/// A program's texts and macros, for questions about names. Borrows the texts; for one thread.
class ProgramTexts {
 public:
  using Texts = std::vector<const HeaderText*>;

  /// The program's own texts, those of a toolkit, its options and name expressions.
  ProgramTexts(Texts own, const Texts& of_toolkit, const std::vector<std::string>& options,
               const std::vector<std::string>& expressions);
  ProgramTexts(const ProgramTexts&) = delete;
  ProgramTexts& operator=(const ProgramTexts&) = delete;
  ~ProgramTexts() = default;

  [[nodiscard]] std::span<const HeaderText* const> all() const { return texts_; }
  [[nodiscard]] std::span<const HeaderText* const> own() const { return {texts_.data(), own_}; }
  [[nodiscard]] bool is_own(const HeaderText& text) const { return known_.at(&text).own; }

  /// The code of one of the texts, without what is for the host alone. Remembers it.
  [[nodiscard]] std::string_view code_of(const HeaderText& text);

  /// False where a text does not hold the name.
  [[nodiscard]] bool may_hold(const HeaderText& text, std::string_view name);

  [[nodiscard]] std::span<const MacroBodies* const> macros() const { return macros_; }
  [[nodiscard]] bool is_macro(std::string_view name) const { return macro_names_.contains(name); }

  /// Whether `look(body)` holds of a macro of that name.
  template <class Look>
  [[nodiscard]] bool any_macro(std::string_view name, const Look& look) const {
    return is_macro(name) && std::ranges::any_of(macros_, [&](const MacroBodies* macros) {
             const auto [begin, end] = macros->equal_range(name);
             return std::any_of(begin, end, [&](const auto& macro) { return look(macro.second); });
           });
  }

  /// Whether a macro may be used anywhere but in its definition: by its name, or by one that is pasted together.
  [[nodiscard]] bool use(const std::string& macro);

  /// Whether a macro may stand for a function's body, or for its beginning.
  [[nodiscard]] bool opens_body(std::string_view name) const;

  /// Whether a list of names has one that may stand for several arguments of a call, or for none.
  [[nodiscard]] bool stands_for_several(std::string_view names) const;

  /// Whether a macro, or one that it goes through, has that name in its own text.
  [[nodiscard]] bool macro_has(std::string_view macro, std::string_view name) const;

  /// Whether a class of this name is defined, or an alias.
  [[nodiscard]] bool is_class(std::string_view name, bool or_alias);

  /// Whether own code has `%:`, behind which nobody looks for a directive or a paste.
  [[nodiscard]] bool has_digraphs();

 private:
  using Names = std::set<std::string_view>;
  [[nodiscard]] bool use(std::string_view macro, Names& seen);
  [[nodiscard]] bool may_paste(std::string_view name);
  [[nodiscard]] bool parts_arguments(std::string_view macro, Names& seen) const;
  [[nodiscard]] bool has(std::string_view macro, std::string_view name, Names& seen) const;

  struct Known {
    bool own;
    std::optional<std::string_view> code;
    std::string without_host;
  };

  Texts texts_;  ///< Own ones first.
  const std::size_t own_;
  std::map<std::string, bool> used_;     ///< Macros that were asked for.
  std::vector<std::string> asked_with_;  ///< Options and name expressions.
  const MacroBodies of_options_;
  std::vector<const MacroBodies*> macros_;
  std::unordered_set<std::string_view> macro_names_;
  bool knows_host_ = true;  ///< Nobody defines anew what tells the host from NVRTC.
  std::unordered_map<const HeaderText*, Known> known_;
};

}  // namespace kiln
