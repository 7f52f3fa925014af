#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace kiln::remote {

/// A server's words for terminals and logs: one line, of no more than 200 bytes, without these secrets. Some servers repeat what
/// they were asked, the login too.
[[nodiscard]] std::string words_without(std::initializer_list<std::string_view> secrets,
                                        std::string_view words);

}  // namespace kiln::remote
