#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The whole C++ declaration that a symbol stands for: "void engine::scale<float>(float*, float)"; nothing
/// for one that is not mangled. Total on any text.
[[nodiscard]] std::optional<std::string> declaration_of_symbol(const std::string& symbol);

/// The C++ name that a symbol stands for, without return type and parameters: "engine::scale<float>" for
/// "_ZN6engine5scaleIfEEvPT_S1_". A symbol that is not mangled is its own name. Total on any text.
[[nodiscard]] std::string name_of_symbol(const std::string& symbol);

/// The types of its parameters, in order, as the declaration has them: "float*", "float"; none for a symbol that tells no
/// types, or takes none. Total on any text.
[[nodiscard]] std::vector<std::string> parameter_types(const std::string& symbol);

/// Whether two names are the same but for their spaces.
[[nodiscard]] bool same_name(std::string_view one, std::string_view other) noexcept;

}  // namespace kiln
