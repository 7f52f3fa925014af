#pragma once

#include <functional>
#include <string>

#include "image/recipe.h"
#include "lookup/layers.h"
#include "making.h"

namespace kiln {

/// How an image that is made of other images is looked up and made. A recipe names contents, so it depends on no
/// header, and the image serves wherever its tool is the same.
class Combination final : public Making {
 public:
  using Make = std::function<Result<Artifact>()>;

  /// Borrows all but `tool`: who makes it on this machine, or why nobody can. `make` is not stopped once it has
  /// begun. `keep`: whether the images are to be kept that it is made of.
  Combination(const Recipe& recipe, Layers& layers, Result<const Toolchain*> tool, const Make& make,
              bool keep);

  /// What the tool of this machine made, or any did where it has none.
  [[nodiscard]] tl::expected<Found, Miss> look_up() override { return ask(&Layers::find); }
  [[nodiscard]] tl::expected<Found, Miss> fetch(Heard heard) override {
    return ask(heard == Heard::anew ? &Layers::fetch_anew : &Layers::fetch);
  }
  [[nodiscard]] Digest flight() const override { return request_digest; }
  [[nodiscard]] Result<const Toolchain*> maker() const override { return tool_; }
  [[nodiscard]] Result<Made> make(const std::stop_token& stop, LookUpCounters& counters) override;

 private:
  [[nodiscard]] tl::expected<Found, Miss> ask(Layers::Ask ask);

  const Recipe& recipe_;
  Layers& layers_;
  const Result<const Toolchain*> tool_;
  const Make& make_;
};

}  // namespace kiln
