#pragma once

#include <string>

#include "vendor/shared_library.h"

// A table of a library's functions is listed once, as a macro F(X) of rows X(member, function, need). It makes the members
// of a structure, each of the function's own type, with F(KILN_FUNCTION_MEMBER), and looks all of them up with
// F(KILN_FUNCTION_BIND), where `binder` is a Binder and `table` the structure.
// NOLINTNEXTLINE(bugprone-macro-parentheses): it names a member.
#define KILN_FUNCTION_MEMBER(member, function, need) decltype(&::function) member = nullptr;
#define KILN_FUNCTION_BIND(member, function, need) \
  binder.bind(table.member, #function, kiln::vendor::Need::need);

namespace kiln::vendor {

/// Whether kiln can do without a function.
enum class Need { required, optional };

/// Looks up functions of a library, and keeps the name of the first required one that is not there. `Find` gives the
/// address of a name, or nullptr.
template <class Find>
class Binder {
 public:
  explicit Binder(Find find) : find_(find) {}

  template <class Function>
  void bind(Function& function, const char* name, Need need) {
    function = reinterpret_cast<Function>(find_(name));
    if (function == nullptr && need == Need::required && missing_.empty()) missing_ = name;
  }

  /// Empty where all that is required is there.
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  Find find_;
  std::string missing_;
};

}  // namespace kiln::vendor
