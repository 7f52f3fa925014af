#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "source/directives.h"
#include "source/function_text.h"
#include "source/header_files.h"

namespace kiln {

/// Tells whether what is given a place computes with it, in a kernel or while the kernel is compiled: then no image shows the
/// place, and each place makes another one. It reports it where it has no text, such as printf(), or where it gives it, whole,
/// to such a one, to a stream or to nobody. Where that cannot be told, it computes. (NVRTC takes no functions of the host.)
/// Borrows all; for one thread.
class PathTakers {
 public:
  using Texts = std::vector<const HeaderText*>;

  /// The program's own texts, those of a toolkit, and the program's options.
  PathTakers(Texts own, const Texts& of_toolkit, const std::vector<std::string>& options);

  [[nodiscard]] bool compute(const PathTaker& taker);

 private:
  /// Where a parameter that stands for a place is used.
  struct Use {
    std::string_view text;
    std::size_t at;
    std::string_view name;
    std::size_t offset;      ///< The place's position in what a variadic parameter stands for.
    const MacroBody* macro;  ///< Whose text it is; nullptr for that of a function.
  };
  /// A function whose name a macro pastes together.
  struct MadeFunction {
    std::string_view lead;
    std::string_view text;                      ///< From the bracket behind its name.
    std::vector<std::string_view> pieces = {};  ///< That the name may begin or end with.
    bool is_open = false;  ///< Another part of it is given, or stands behind the macro.
  };

  [[nodiscard]] bool is_computing(const PathTaker& taker);
  [[nodiscard]] bool macros_compute(const PathTaker& taker);
  [[nodiscard]] bool computes(const MacroBody& macro, const PathTaker& taker);
  [[nodiscard]] bool made_functions_compute(const PathTaker& taker);
  [[nodiscard]] bool is_given_in_parts(std::string_view name);
  [[nodiscard]] std::vector<std::string_view> pieces_of_call(std::string_view before,
                                                             std::string_view macro) const;
  void find_made_functions();
  void find_made_functions_in(const MacroBody& macro);
  void find_made_functions_in(std::string_view code);
  [[nodiscard]] bool text_computes(const HeaderText& text, const PathTaker& taker);
  [[nodiscard]] bool occurrence_computes(std::string_view text, std::size_t at,
                                         const PathTaker& taker);
  [[nodiscard]] bool is_class_mention(std::string_view lead, std::string_view rest) const;
  [[nodiscard]] bool is_unknown(std::string_view text, std::size_t at, std::string_view name);
  [[nodiscard]] bool function_computes(std::string_view lead, std::string_view text,
                                       const PathTaker& taker);
  [[nodiscard]] bool type_computes(const FunctionText& function, std::string_view declared);
  [[nodiscard]] bool body_computes(const FunctionText& function, const GivenParameter& parameter);
  [[nodiscard]] bool use_computes(const Use& use);
  [[nodiscard]] bool makes_another(std::string_view name);
  [[nodiscard]] bool has_digraphs();
  [[nodiscard]] bool streams_compute();
  [[nodiscard]] bool stream_computes(std::string_view lead, std::string_view text);
  [[nodiscard]] bool any_computes(const std::vector<std::string_view>& classes);

  [[nodiscard]] bool is_macro(std::string_view name) const { return macro_names_.contains(name); }
  [[nodiscard]] bool is_class(std::string_view name, bool or_alias);
  [[nodiscard]] bool opens_body(std::string_view name) const;
  [[nodiscard]] bool stands_for_several(std::string_view names) const;
  [[nodiscard]] bool parts_arguments(std::string_view name, std::set<std::string_view>& seen) const;
  [[nodiscard]] bool macro_names(std::string_view macro, std::string_view name,
                                 std::set<std::string_view>& seen) const;

  [[nodiscard]] std::span<const HeaderText* const> own_texts() const {
    return {texts_.data(), own_};
  }
  /// The text's code, without what is for the host alone.
  [[nodiscard]] std::string_view code_of(const HeaderText& text);

  [[nodiscard]] bool is_own(const HeaderText& text) const {
    return std::ranges::find(own_texts(), &text) != own_texts().end();
  }
  [[nodiscard]] bool may_hold(const HeaderText& text, std::string_view name);

  Texts texts_;  ///< Own ones first.
  const std::size_t own_;
  const MacroBodies of_options_;
  std::vector<const MacroBodies*> macros_;
  std::unordered_set<std::string_view> macro_names_;
  std::set<PathTaker> asked_;  ///< Of which one that goes round in circles need not be asked again.
  std::optional<std::vector<MadeFunction>> made_functions_;
  std::size_t depth_ = 0;
  std::size_t work_ = 0;    ///< In characters.
  bool knows_host_ = true;  ///< Nobody defines anew what tells the host from NVRTC.
  std::map<const HeaderText*, std::string> for_device_;
};

}  // namespace kiln
