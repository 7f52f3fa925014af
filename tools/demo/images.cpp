#include "images.h"

#include <chrono>
#include <utility>

#include "decoder_block.h"
#include "decoder_programs.h"
#include "kiln/explain.h"
#include "kiln/target.h"

namespace demo {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<kiln::Program> made(std::vector<kiln::ProgramSpec> specs) {
  std::vector<kiln::Program> programs;
  programs.reserve(specs.size());
  for (auto& spec : specs) programs.push_back(kiln::Program::make(std::move(spec)).value());
  return programs;
}

Image ask(kiln::Runtime& runtime, const kiln::Program& program, const kiln::Target& target) {
  const auto begin = Clock::now();
  auto artifact = runtime.compile(program, target).value();
  const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
  return {std::move(artifact), taken.count()};
}

}  // namespace

bool Image::served() const {
  return artifact.origin == kiln::Origin::local || artifact.origin == kiln::Origin::bundle ||
         artifact.origin == kiln::Origin::remote;
}

std::vector<kiln::Program> block_programs() { return made(decoder_block()); }

std::vector<kiln::Program> text_programs() { return made(decoder_programs()); }

std::vector<Image> ask_for_all(kiln::Runtime& runtime, const Architectures& architectures,
                               const BeforeImage& before) {
  const auto programs = block_programs();
  std::vector<Image> images;
  for (const kiln::Program& program : programs) {
    for (const std::string& arch : architectures) {
      if (before) before(images.size(), programs.size() * architectures.size(), program, arch);
      images.push_back(ask(runtime, program, kiln::Target::parse(arch).value()));
    }
  }
  return images;
}

std::size_t count_stored(kiln::Runtime& runtime, const Architectures& architectures) {
  std::size_t count = 0;
  for (const kiln::Program& program : block_programs()) {
    for (const std::string& arch : architectures) {
      const auto target = kiln::Target::parse(arch).value();
      if (runtime.explain(program, target).value().hit) ++count;
    }
  }
  return count;
}

std::size_t kernel_count(const std::vector<Image>& images) {
  std::size_t count = 0;
  for (const Image& image : images) count += image.artifact.kernels.size();
  return count;
}

}  // namespace demo
