#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/link.h"

namespace kiln {

/// How an image is made of others, as the cache knows it. The text stands in for a program's source. It names
/// each image by its content, so an entry of a recipe holds wherever its images came from, and depends on no
/// header. A value.
struct Recipe {
  Request request;
  std::string text;
};

/// What a recipe is made from.
struct RecipeSpec {
  std::string_view verb;  ///< "link" or "fatbin".
  std::string name;
  const std::vector<Artifact>& images;  ///< Borrowed.
  std::vector<std::string> options;     ///< For the tool, in order.
  std::vector<std::string> expressions;
  std::string arch;
  std::string kind;
};

/// The request's options begin with one that no program may have, so that no program's request is ever
/// a recipe's. Errors: invalid_argument for a name or an expression with a control character.
[[nodiscard]] Result<Recipe> make_recipe(RecipeSpec spec);

}  // namespace kiln
