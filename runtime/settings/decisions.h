#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/error.h"
#include "kiln/settings.h"
#include "settings/config_file.h"
#include "settings/setting_values.h"

namespace kiln::settings {

/// What somebody says a setting is, and where: an origin as of Setting.
struct Given {
  std::string value;
  std::string origin;
};

/// Decides settings one by one and lists them. An option goes before the environment, this before the files in their order, and
/// they before what is usual. What is empty in the environment or a file is not said. The first fault is kept, and from then on
/// whatever is decided is of no use. One thread's.
class Decisions {
 public:
  explicit Decisions(std::vector<ConfigFile> files) : files_(std::move(files)) {}

  /// `parse` reads what is not an option: the value's type leaves that little to be checked, by check() and refuse().
  /// `text` writes what it reads.
  template <class T, class Parse, class Text = decltype(text_of_any)>
  std::optional<T> decide(const char* variable, const std::optional<T>& option, const Parse& parse,
                          const std::optional<std::type_identity_t<T>>& usual = std::nullopt,
                          const Text& text = text_of_any) {
    auto value = option;
    const auto said = option ? std::nullopt : given(variable);
    if (!option) value = usual;
    list({variable, "", option ? "option" : said ? said->origin : "default"});
    if (said) {
      auto parsed = parse(variable, said->value);
      check(variable, parsed);
      if (parsed) value = std::move(*parsed);
    }
    if (value) listing_.back().value = text(*value);
    return value;
  }

  /// Of a setting that always is something.
  template <class T, class Parse, class Text = decltype(text_of_any)>
  T decide_or(const char* variable, const std::optional<T>& option, const Parse& parse,
              const std::type_identity_t<T>& usual, const Text& text = text_of_any) {
    return decide(variable, option, parse, std::optional<T>(usual), text).value_or(usual);
  }

  /// Of a setting that is text as an option too: that is read as well. Listed as it was said; nothing where nobody said it.
  template <class T>
  std::optional<T> decide_text(const char* variable, const std::optional<std::string>& option,
                               Result<T> (*parse)(const char*, const std::string&),
                               const std::string& usual = {}) {
    const auto said = option ? std::optional(Given{*option, "option"}) : given(variable);
    list({variable, said ? said->value : usual, said ? said->origin : "default"});
    if (!said) return std::nullopt;
    auto parsed = parse(variable, said->value);
    check(variable, parsed);
    return parsed ? std::optional<T>(std::move(*parsed)) : std::nullopt;
  }

  /// What the environment or a file says of a setting.
  [[nodiscard]] std::optional<Given> given(const char* variable) const;
  /// Where this is said to be empty, if that is said before anything else.
  [[nodiscard]] std::optional<std::string> said_empty_in(const char* variable) const;

  void list(Setting setting) { listing_.push_back(std::move(setting)); }

  /// Keeps the error, if it is one.
  template <class T>
  void check(const char* variable, const Result<T>& result) {
    if (!result) refuse(variable, result.error());
  }
  /// Of a variable that was listed: where it stands in a file, that is named as well.
  void refuse(const char* variable, Error error);
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

  /// What was decided.
  [[nodiscard]] const std::vector<Setting>& listing() const { return listing_; }
  /// What the environment and files name as settings and is none. Call it when all are decided.
  [[nodiscard]] std::vector<UnknownVariable> unknown() const;
  /// What is said of the files that could not be read.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  std::vector<ConfigFile> files_;
  std::vector<Setting> listing_;
  std::optional<Error> fault_;
};

}  // namespace kiln::settings
