#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "image/foreign_image.h"
#include "kiln/caller_state.h"
#include "kiln/runtime.h"
#include "program/image_choice.h"
#include "runtime_impl.h"

namespace kiln {

namespace {

Result<ChosenImage> chosen_image(Result<ServedArtifact> obtained, const ProgramChoice& choice) {
  if (!obtained) return tl::unexpected(std::move(obtained.error()));
  return ChosenImage{std::move(*obtained), choice};
}

}  // namespace

// The best image there is for the device; only where there is none is one compiled. Each target has its
// own variant, so that an image of a lesser one that is there goes before a compile, too.
Result<ChosenImage> Runtime::Impl::obtain_for(const vendor::Device& device,
                                              const Program& program) {
  const auto wanted = Target::parse(compile_target(device.major, device.minor));
  if (!wanted) return tl::unexpected(wanted.error());
  const auto choice = choose(program, *wanted);
  const auto asked = query(choice.program(), *wanted);
  const auto cubins = runnable_archs(device.major, device.minor);
  if (auto stored = first_stored(program, cubins, ImageKind::cubin, asked)) return *stored;
  if (settings.allow_ptx) {
    const auto texts = runnable_ptx(device.major, device.minor);
    if (auto stored = first_stored(program, texts, ImageKind::ptx, asked)) return *stored;
  }
  return chosen_image(pipeline.obtain(asked, {}), choice);
}

// Of these architectures the first that any layer serves with something that the driver takes.
std::optional<ChosenImage> Runtime::Impl::first_stored(const Program& program,
                                                       const std::vector<std::string>& archs,
                                                       ImageKind kind, const Query& asked) {
  const Loading loading{(*driver())->version(), to_string(kind)};
  for (const auto& arch : archs) {
    const auto target = Target::parse(arch, kind);
    if (!target) continue;
    const auto choice = choose(program, *target);
    if (auto stored = pipeline.stored(query(choice.program(), *target), asked, loading))
      return ChosenImage{std::move(*stored), choice};
  }
  return std::nullopt;
}

Result<Kernel> Runtime::kernel(const Program& program, std::string_view expression) {
  const auto& cuda = impl().driver();
  if (!cuda) return tl::unexpected(cuda.error());
  return impl().kernels.find(*cuda, program, expression);
}

Result<Kernel> Runtime::kernel(const Program& program, std::string_view expression,
                               const Target& target) {
  const CallerState caller;
  if (target.kind() == ImageKind::ltoir || target.kind() == ImageKind::optixir) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} for {}: the driver loads no {}: ask for cubin, ptx or fatbin",
                            program.name(), target.arch(), to_string(target.kind())));
  }
  const auto& cuda = impl().driver();
  if (!cuda) return tl::unexpected(cuda.error());
  const auto resolved = impl().resolve(target);
  if (!resolved) return tl::unexpected(resolved.error());
  return impl().kernels.find(
      *cuda, program, expression, [&](const vendor::Device&, const Program& asked) {
        return chosen_image(impl().obtain(asked, *resolved), impl().choose(asked, *resolved));
      });
}

template <class Image>
Result<Module> Runtime::Impl::module(const Image& image) {
  const auto& cuda = driver();
  if (!cuda) return tl::unexpected(cuda.error());
  const auto loaded = kernels.image(*cuda, image);
  if (!loaded) return tl::unexpected(loaded.error());
  return Module(**loaded);
}

Result<Module> Runtime::module(const Program& program) {
  const CallerState caller;
  return impl().module(program);
}

Result<Module> Runtime::module(const Artifact& artifact) {
  const CallerState caller;
  return impl().module(artifact);
}

Result<Module> Runtime::module_of_image(std::string image, std::string name) {
  const CallerState caller;
  const auto artifact = artifact_of_image(std::move(image), std::move(name));
  if (!artifact) return tl::unexpected(artifact.error());
  return impl().module(*artifact);
}

Outcome Runtime::load_all(std::span<const Program> programs) {
  const CallerState caller;
  std::vector<std::string> failures;
  Error first;
  for (const auto& program : programs) {
    const auto loaded = impl().module(program);
    if (loaded) continue;
    if (failures.empty()) first = loaded.error();
    failures.push_back(loaded.error().message);
  }
  if (failures.empty()) return {};
  if (failures.size() > 1) {
    first.message = fmt::format("{} of {} programs could not be loaded:\n{}", failures.size(),
                                programs.size(), fmt::join(failures, "\n"));
  }
  return tl::unexpected(std::move(first));
}

}  // namespace kiln
