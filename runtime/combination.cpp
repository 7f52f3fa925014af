#include "combination.h"

#include <utility>

namespace kiln {

Combination::Combination(const Recipe& recipe, Layers& layers, Result<const Toolchain*> tool,
                         const Make& make, bool keep)
    : Making(recipe.request, digest_of(recipe.request.material()), "making", keep),
      recipe_(recipe),
      layers_(layers),
      tool_(std::move(tool)),
      make_(make) {}

tl::expected<Making::Found, Miss> Combination::ask(Layers::Ask ask) {
  WhyNot why_not;
  const auto accept = [&](const DependencySet&, const Toolchain& toolchain, const Witness*,
                          const SignedTexts*) {
    const bool fits = !tool_ || (*tool_)->identity == toolchain.identity;
    if (!fits) why_not.refuse("it was made by another build of the tool");
    return fits;
  };
  auto found = (layers_.*ask)({request, request_digest, asking_time}, accept, why_not);
  if (!found) return tl::unexpected(why_not.miss());
  return Found{std::move(*found)};
}

Result<Making::Made> Combination::make(const std::stop_token& /*stop*/, LookUpCounters& counters) {
  auto image = make_();
  if (!image) return tl::unexpected(std::move(image.error()));
  ++counters.combined;
  return Made{std::move(*image), {}, {}, {{request.source, recipe_.text}}};
}

}  // namespace kiln
