#pragma once

#include <string>
#include <string_view>

namespace kiln {

/// Whether this may be one of NVRTC's own macros that paste, quote, or come to names that a program may define, beside those of
/// is_word_of_compilers_macros(). Their definitions stand in no text of a program. The first letters rule out most words.
[[nodiscard]] bool is_compilers_macro(std::string_view word);

/// What such a macro comes to, in short: all names and operators of its body and of the compiler's others that it comes to, in
/// no order. REQUIRES: is_compilers_macro(word).
[[nodiscard]] std::string body_of_compilers_macro(std::string_view word);

/// Whether some of NVRTC's own macros, the others too, come to this name: an attribute, a keyword, what only NVRTC's library has. A
/// program may define it, and a text that does not name it may mean it then.
[[nodiscard]] bool is_word_of_compilers_macros(std::string_view word);

}  // namespace kiln
