#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/directives.h"
#include "source/function_text.h"
#include "source/made_functions.h"
#include "source/program_texts.h"

namespace kiln {

/// Tells whether what is given a place computes with it, in a kernel or while the kernel is compiled: then no image shows the
/// place, and each place makes another one. It reports it where it has no text, such as printf(), or where it gives it, whole,
/// to such a one, to a stream that has none, or to nobody. What is not of a shape that is known here computes, and so does what
/// takes too long to follow. (NVRTC takes no functions of the host.) Borrows all; for one thread.
class PathTakers {
 public:
  using Texts = ProgramTexts::Texts;

  /// The program's own texts, those of a toolkit, its options and name expressions.
  PathTakers(Texts own, const Texts& of_toolkit, const std::vector<std::string>& options,
             const std::vector<std::string>& expressions = {})
      : texts_(std::move(own), of_toolkit, options, expressions) {}

  /// Whether anything does that the texts give their places to, or a macro that they use.
  [[nodiscard]] bool compute(const PathUses& uses);

 private:
  /// Where a parameter that stands for a place is used.
  struct Use {
    std::string_view text;
    std::size_t at;
    std::string_view name;
    std::size_t offset;      ///< The place's position in what a variadic parameter stands for.
    const MacroBody* macro;  ///< Whose text it is; nullptr for that of a function.
  };

  [[nodiscard]] bool computes_by_itself(const PathTaker& taker);
  [[nodiscard]] bool compute(const PathTaker& taker);
  [[nodiscard]] bool is_computing(const PathTaker& taker);
  [[nodiscard]] bool computes(const MacroBody& macro, const PathTaker& taker);
  [[nodiscard]] bool made_functions_compute(const PathTaker& taker);
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
  [[nodiscard]] bool streams_compute();
  [[nodiscard]] bool stream_computes(std::string_view lead, std::string_view text);
  [[nodiscard]] bool any_computes(const std::vector<std::string_view>& classes);

  ProgramTexts texts_;
  std::map<PathTaker, bool> known_;
  std::set<PathTaker> asked_;  ///< Of which one that goes round in circles need not be asked again.
  std::optional<std::vector<MadeFunction>> made_functions_;
  std::size_t depth_ = 0;
  std::size_t work_ = 0;  ///< In characters.
};

}  // namespace kiln
