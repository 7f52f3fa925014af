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
  /// Images of one program each, in order: LTO-IR, relocatable cubins (compiled with `-rdc=true`), PTX.
  /// What compile() gives goes in as it is; of an artifact made by hand `program`, `kind`, `image` and
  /// `kernels` count. The link of what is in the cache is found there without the linker.
  std::vector<Artifact> inputs;
  /// The architecture, and whether to stop at PTX, for which all inputs have to be LTO-IR.
  Target target;
  /// For the linker, e.g. "-maxrregcount=64". `-lto` is added where an input is LTO-IR.
  std::vector<std::string> options = {};
  /// Name expressions of the inputs, or symbols: what the linked artifact lists. All, where this is
  /// empty: the kernels of an input that lists none under their symbols.
  std::vector<std::string> kernels = {};
};

/// Whether an entry of this request was made of other images: linked, or packed into a fatbin. The
/// source of such a one is a recipe that names the images by digest, no CUDA C++: it is served, shown,
/// shipped and verified like any other, and cannot be compiled again or for another architecture.
[[nodiscard]] bool made_of_images(const Request& request) noexcept;

}  // namespace kiln
