#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kiln::remote {

/// A server's words for terminals and logs: one line, of no more than 200 bytes, without these secrets. Some servers repeat what
/// they were asked, the login too.
[[nodiscard]] std::string words_without(std::initializer_list<std::string_view> secrets,
                                        std::string_view words);

/// As names of objects and tokens of leases are.
[[nodiscard]] bool is_hexadecimal(std::string_view text, std::size_t digits);

}  // namespace kiln::remote
