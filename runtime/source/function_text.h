#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace kiln {

/// What a text has of a function where its name stands before a bracket: a definition, a declaration or a call. Borrows the text.
struct FunctionText {
  std::string_view lead;         ///< What stands before the name since the last statement.
  std::string_view in_brackets;  ///< Its parameters, or a call's arguments.
  std::string_view behind = {};  ///< What follows, up to the statement's end or the body's.
  std::size_t body = 0;  ///< Where the body begins in `behind`, its end where there is none.
  char end = '\0';  ///< Of the sign that ends it; '}' for a body's, 0 where the text ends before.

  [[nodiscard]] bool has_body() const { return body != behind.size(); }
  /// Between parameters and body.
  [[nodiscard]] std::string_view tail() const { return behind.substr(0, body); }
};

/// `text` begins with the bracket behind the function's name. What looks like a body is taken for one.
[[nodiscard]] FunctionText read_function(std::string_view lead, std::string_view text);

/// Whether what stands between a function's parameters and its body, or its end, is of the plain kind: nothing that may be a macro, a
/// condition or a body itself.
[[nodiscard]] bool has_plain_tail(const FunctionText& function);

/// Whether it takes or makes a stream of the host's library, so that NVRTC compiles nothing that calls it.
[[nodiscard]] bool is_of_host(const FunctionText& function);

/// The parameters; nothing where they cannot be told apart.
[[nodiscard]] std::optional<std::vector<std::string_view>> parameters_of(
    const FunctionText& function);

/// The name that a function's parameter is declared with; empty where it has none that can be told.
[[nodiscard]] std::string_view name_in_function(std::string_view parameter);

/// A parameter as the argument at a position finds it; nothing where there is none.
struct GivenParameter {
  std::string_view declared;
  std::size_t offset = 0;  ///< The argument's position in what a variadic one stands for.
};
template <class Texts>
[[nodiscard]] std::optional<GivenParameter> parameter_at(const Texts& parameters,
                                                         std::size_t argument) {
  const bool variadic = !parameters.empty() &&
                        std::string_view(parameters.back()).find("...") != std::string_view::npos;
  const auto fixed = parameters.size() - (variadic ? 1 : 0);
  if (argument < fixed) return GivenParameter{parameters[argument]};
  if (variadic) return GivenParameter{parameters.back(), argument - fixed};
  return std::nullopt;
}

/// Whether the type that is deduced for a parameter is asked for anywhere else in the function: then an array's size is known there.
[[nodiscard]] bool uses_deduced_type(const FunctionText& function, std::string_view declared);

/// Whether a parameter's type is deduced.
[[nodiscard]] bool is_deduced(const FunctionText& function, std::string_view declared);

/// The classes that a parameter's type names, and whatever else may be one.
[[nodiscard]] std::vector<std::string_view> classes_named(const FunctionText& function,
                                                          std::string_view declared);

/// Whether a class of the name between these is defined there.
[[nodiscard]] bool begins_class(std::string_view lead, std::string_view rest);

/// The text in braces of a class; `text` begins behind its name. Empty where the class is not defined there.
[[nodiscard]] std::string_view class_body(std::string_view text);

/// Over a name's arguments in angle brackets, where it is sure that they are; else nothing is passed.
[[nodiscard]] std::string_view behind_template_arguments(std::string_view text);

}  // namespace kiln
