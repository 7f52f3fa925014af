#include "image/fatbin.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/stopwatch.h"
#include "program/architecture.h"

namespace kiln {

namespace {

// "90a" of "sm_90a" and "compute_90a".
std::string_view number_of(std::string_view arch) { return arch.substr(arch.find('_') + 1); }

bool is_virtual(const Target& target) { return target.arch().starts_with("compute_"); }

// Older architectures first, and of one the cubin before the PTX.
bool comes_before(const Target& left, const Target& right) {
  const auto rank = [](const Target& target) {
    const auto version = read_architecture(target.arch()).value_or(Architecture{}).version;
    return std::tuple(version, target.arch(), target.kind());
  };
  return rank(left) < rank(right);
}

// The name of the image's part. PTX is for a virtual architecture, whichever one it was asked for by.
std::string label_of(const Artifact& image) {
  if (image.kind == to_string(ImageKind::cubin)) return image.arch;
  return fmt::format("compute_{}", number_of(image.arch));
}

Result<std::vector<KernelInfo>> merged_kernels(const std::vector<Artifact>& images) {
  std::map<std::string, KernelInfo> merged;
  // Variants may take other parameters under one name. The driver tells which when it has chosen an image.
  std::set<std::string> different;
  for (const auto& image : images) {
    for (const auto& kernel : image.kernels) {
      auto& known = merged.emplace(kernel.expression, kernel).first->second;
      if (known.symbol != kernel.symbol) {
        return fail(
            ErrorCode::invalid_argument,
            fmt::format("{}: '{}' is {} for one architecture and {} for {}, as what is in an "
                        "anonymous namespace is, and a fatbin has one name for all: move it "
                        "out of there",
                        image.program, kernel.expression, known.symbol, kernel.symbol, image.arch));
      }
      if (!kernel.params_known) continue;
      known.registers = std::max(known.registers, kernel.registers);
      known.shared_bytes = std::max(known.shared_bytes, kernel.shared_bytes);
      known.local_bytes = std::max(known.local_bytes, kernel.local_bytes);
      if (known.params_known && known.params != kernel.params) different.insert(kernel.expression);
      known.params = kernel.params;
      known.params_known = true;
    }
  }
  for (const auto& expression : different) {
    merged.at(expression).params.clear();
    merged.at(expression).params_known = false;
  }
  std::vector<KernelInfo> kernels;
  kernels.reserve(merged.size());
  for (auto& [expression, kernel] : merged) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace

Result<std::vector<Target>> fatbin_targets(const Program& program,
                                           const std::vector<Target>& targets) {
  std::vector<Target> parts;
  for (const auto& target : targets) {
    auto kind = target.kind();
    if (kind == ImageKind::fatbin) kind = is_virtual(target) ? ImageKind::ptx : ImageKind::cubin;
    if (kind != ImageKind::cubin && kind != ImageKind::ptx) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: a fatbin holds cubins and PTX, which a driver takes, and no {}",
                              program.name(), to_string(kind)));
    }
    auto part = Target::parse(target.arch(), kind);
    if (!part) return tl::unexpected(part.error());
    parts.push_back(std::move(*part));
  }
  if (parts.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: a fatbin is for one architecture at least", program.name()));
  }
  std::sort(parts.begin(), parts.end(), comes_before);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

Result<Recipe> fatbin_recipe(const Program& program, const std::vector<Artifact>& images) {
  if (const auto kernels = merged_kernels(images); !kernels) return tl::unexpected(kernels.error());
  std::vector<std::string> labels;
  labels.reserve(images.size());
  for (const auto& image : images) labels.push_back(label_of(image));
  return make_recipe({.verb = "fatbin",
                      .name = program.name(),
                      .images = images,
                      .options = {},
                      .expressions = program.kernels(),
                      .arch = fmt::format("{}", fmt::join(labels, ",")),
                      .kind = to_string(ImageKind::fatbin)});
}

Result<Artifact> pack_fatbin(const vendor::NvFatbin& packer, const Recipe& recipe,
                             const std::vector<Artifact>& images) {
  const Stopwatch watch;
  std::vector<vendor::FatbinMember> members;
  for (const auto& image : images) {
    const auto kind = image.kind == to_string(ImageKind::cubin) ? ImageKind::cubin : ImageKind::ptx;
    members.push_back({kind, std::string(number_of(image.arch)), image.program, image.image});
  }
  auto packed = packer.pack(members);
  if (!packed) {
    packed.error().message =
        fmt::format("{} for {}: {} could not pack it: {}", recipe.request.program,
                    recipe.request.arch, packer.text(), packed.error().message);
    return tl::unexpected(std::move(packed.error()));
  }
  auto kernels = merged_kernels(images);
  if (!kernels) return tl::unexpected(std::move(kernels.error()));
  Artifact artifact;
  artifact.program = recipe.request.program;
  artifact.arch = recipe.request.arch;
  artifact.kind = recipe.request.kind;
  artifact.image = std::move(*packed);
  artifact.kernels = std::move(*kernels);
  artifact.compile_us = watch.microseconds();
  return artifact;
}

}  // namespace kiln
