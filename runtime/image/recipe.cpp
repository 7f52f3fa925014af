#include "image/recipe.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln {

namespace {

// Program::make() refuses options that begin so.
constexpr std::string_view mark = "--kiln-";

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Outcome check_text(std::string_view what, const std::string& text) {
  if (!text.empty() && !has_control_character(text)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} '{}' is empty or holds a control character", what, text));
}

// Adds a line for the image, and one for each name that it brings, so that a person can read the recipe.
Outcome add_image(const Artifact& image, std::string& text) {
  if (auto checked = check_text("an image's name", image.program); !checked) return checked;
  text += fmt::format("{} {} {} {} {}\n", image.kind, image.arch, digest_of(image.image).hex(),
                      image.image.size(), image.program);
  for (const auto& kernel : image.kernels) {
    for (const auto* name : {&kernel.symbol, &kernel.expression}) {
      if (auto checked = check_text("a kernel's name", *name); !checked) return checked;
    }
    text += fmt::format("  {} {}\n", kernel.symbol, kernel.expression);
  }
  return {};
}

}  // namespace

bool made_of_images(const Request& request) noexcept {
  return !request.options.empty() && request.options.front().starts_with(mark);
}

Result<Recipe> make_recipe(RecipeSpec spec) {
  if (auto checked = check_text("the name", spec.name); !checked)
    return tl::unexpected(checked.error());
  Recipe recipe;
  recipe.text = fmt::format("kiln {} of\n", spec.verb);
  for (const auto& image : spec.images) {
    if (auto added = add_image(image, recipe.text); !added) return tl::unexpected(added.error());
  }
  std::sort(spec.expressions.begin(), spec.expressions.end());
  spec.expressions.erase(std::unique(spec.expressions.begin(), spec.expressions.end()),
                         spec.expressions.end());
  spec.options.insert(spec.options.begin(), fmt::format("{}{}", mark, spec.verb));
  recipe.request = {std::move(spec.name),    digest_of(recipe.text),      recipe.text.size(),
                    std::move(spec.options), std::move(spec.expressions), std::move(spec.arch),
                    std::move(spec.kind)};
  return recipe;
}

}  // namespace kiln
