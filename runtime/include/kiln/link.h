#pragma once

// kiln/link.h: images of several programs, linked to one.
//
//     const auto ltoir = kiln::Target::parse("sm_90", kiln::ImageKind::ltoir).value();
//     const auto linked = runtime.link({.name = "engine.link",
//                                       .inputs = {runtime.compile(program, ltoir).value()},
//                                       .target = kiln::Target::parse("sm_90").value()}).value();

#include <string>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/export.h"
#include "kiln/request.h"
#include "kiln/target.h"

namespace KILN_EXPORT kiln {

/// What a link is made from. A value.
struct LinkSpec {
  std::string name;  ///< For messages and listings, as a program's name is, e.g. "engine.link".
  /// Images of one program each, in order: LTO-IR, relocatable cubins (compiled with `-rdc=true`) or PTX. An
  /// artifact of compile() goes in as it is. Of an artifact made by hand kiln reads `program`, `kind`,
  /// `image` and `kernels`. Where the cache holds the link of these images, no linker is needed.
  std::vector<Artifact> inputs;
  /// The architecture, and whether to stop at PTX. For PTX all inputs have to be LTO-IR.
  Target target;
  /// For the linker, e.g. "-maxrregcount=64". kiln adds `-lto` where an input is LTO-IR.
  std::vector<std::string> options = {};
  /// The kernels that the linked artifact lists, by name expressions of the inputs or by symbols. Where this
  /// is empty, it lists all; those of an input that lists none stand under their symbols.
  std::vector<std::string> kernels = {};
  bool keep = true;  ///< As ProgramSpec::keep, of the linked image.
};

/// Whether an entry of this request was made of other images: linked, or packed into a fatbin. Its source is
/// then no CUDA C++, but a recipe that names the images by digest. Such an entry is served, shown, shipped
/// and verified like any other. It cannot be compiled again, nor for another architecture.
[[nodiscard]] bool made_of_images(const Request& request) noexcept;

}  // namespace kiln
