#include "image/link.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/stopwatch.h"
#include "image/kernel_facts.h"
#include "image/link_inputs.h"
#include "image/ptx.h"

namespace kiln {

namespace {

constexpr std::array input_kinds{ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir};

struct OwnedOption {
  std::string_view name;
  std::string_view remedy;
};

// `name` is what stands before a "=".
constexpr std::array owned_options{
    OwnedOption{"-arch", "give the architecture in the target"},
    OwnedOption{"-ptx", "ask for PTX in the target"},
    OwnedOption{"-no-cache", "kiln decides this itself"},
    OwnedOption{"-time", "what it prints differs from link to link"},
};

std::optional<ImageKind> input_kind(const Artifact& input) {
  for (const auto kind : input_kinds) {
    if (input.kind == to_string(kind)) return kind;
  }
  return std::nullopt;
}

bool is_ltoir(const Artifact& input) { return input.kind == to_string(ImageKind::ltoir); }

Outcome check_inputs(const LinkSpec& spec) {
  if (spec.inputs.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: there is nothing to link", spec.name));
  }
  for (const auto& input : spec.inputs) {
    if (!input_kind(input)) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{}: the input {} is of the kind '{}': what can be linked is cubin, ptx "
                      "and ltoir",
                      spec.name, input.program, input.kind));
    }
    if (input.image.empty()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: the input {} is empty", spec.name, input.program));
    }
  }
  return {};
}

Outcome check_target(const LinkSpec& spec) {
  const auto kind = spec.target.kind();
  if (kind != ImageKind::cubin && kind != ImageKind::ptx) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{}: a link gives a cubin, or PTX, and no {}", spec.name, to_string(kind)));
  }
  const auto machine_code = std::find_if_not(spec.inputs.begin(), spec.inputs.end(), is_ltoir);
  if (kind == ImageKind::ptx && machine_code != spec.inputs.end()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: PTX is linked of LTO-IR alone, and the input {} is {}: ask for a "
                            "cubin, or compile it to ltoir",
                            spec.name, machine_code->program, machine_code->kind));
  }
  return {};
}

Outcome check_options(const LinkSpec& spec) {
  for (const auto& option : spec.options) {
    if (!option.starts_with('-') || option.find('\0') != std::string::npos) {
      return fail(ErrorCode::invalid_option,
                  fmt::format("{}: '{}' is no option of the linker: each begins with a dash, and a "
                              "value follows a '='",
                              spec.name, option));
    }
    const auto name = option.substr(0, option.find('='));
    for (const auto& owned : owned_options) {
      if (name != owned.name && name != "-" + std::string(owned.name)) continue;
      return fail(ErrorCode::invalid_option,
                  fmt::format("{}: option '{}' is not for a link to set: {}", spec.name, option,
                              owned.remedy));
    }
  }
  return {};
}

// From name expressions to kernels. One that means different kernels in two inputs stands twice, and is
// ambiguous.
using Names = std::multimap<std::string, const KernelInfo*, std::less<>>;

Names names_of(const LinkSpec& spec) {
  Names names;
  for (const auto& input : spec.inputs) {
    for (const auto& kernel : input.kernels) {
      const auto [first, last] = names.equal_range(kernel.expression);
      const bool known = std::any_of(
          first, last, [&](const auto& other) { return other.second->symbol == kernel.symbol; });
      if (!known) names.emplace(kernel.expression, &kernel);
    }
  }
  return names;
}

Outcome check_unambiguous(const LinkSpec& spec, const Names& names, const std::string& expression) {
  if (names.count(expression) <= 1) return {};
  const auto first = names.find(expression);
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("{}: the name expression '{}' means {} in one input and {} in another: list "
                  "the kernels wanted, these by their symbols",
                  spec.name, expression, first->second->symbol, std::next(first)->second->symbol));
}

// The kernels to list: those asked for, or all that the inputs list.
Result<std::vector<KernelInfo>> wanted_kernels(const LinkSpec& spec) {
  const auto names = names_of(spec);
  std::vector<KernelInfo> wanted;
  if (spec.kernels.empty()) {
    for (const auto& [expression, kernel] : names) {
      if (auto checked = check_unambiguous(spec, names, expression); !checked)
        return tl::unexpected(checked.error());
      wanted.push_back({.expression = expression, .symbol = kernel->symbol});
    }
    return wanted;
  }
  for (const auto& asked : std::set<std::string>(spec.kernels.begin(), spec.kernels.end())) {
    if (auto checked = check_unambiguous(spec, names, asked); !checked)
      return tl::unexpected(checked.error());
    const auto at = names.find(asked);
    // A name that no input lists may yet be the symbol of a kernel.
    wanted.push_back(
        {.expression = asked, .symbol = at != names.end() ? at->second->symbol : asked});
  }
  return wanted;
}

std::vector<std::string> all_options(const vendor::NvJitLink& linker, const LinkSpec& spec) {
  std::vector<std::string> options{"-arch=" + spec.target.arch()};
  if (linker.has_own_cache()) options.emplace_back("-no-cache");
  const bool has_ltoir = std::any_of(spec.inputs.begin(), spec.inputs.end(), is_ltoir);
  if (has_ltoir) options.emplace_back("-lto");
  if (spec.target.kind() == ImageKind::ptx) options.emplace_back("-ptx");
  for (const auto& option : spec.options) {
    if (!has_ltoir || option != "-lto") options.push_back(option);
  }
  return options;
}

// The symbols of the kernels that the image has.
std::vector<std::string> symbols_of(const Artifact& linked) {
  std::vector<std::string> symbols;
  if (linked.kind == to_string(ImageKind::ptx)) {
    for (const auto& definition : read_ptx(linked.image)) {
      if (definition.is_kernel) symbols.emplace_back(definition.name);
    }
    return symbols;
  }
  for (const auto& kernel : linked.kernels) {
    if (kernel.params_known) symbols.push_back(kernel.symbol);
  }
  return symbols;
}

// A PTX text tells of its kernels no more than their names.
void add_kernels_of_ptx(Artifact& linked) {
  for (const auto& symbol : symbols_of(linked)) {
    const bool listed = std::any_of(linked.kernels.begin(), linked.kernels.end(),
                                    [&](const auto& known) { return known.symbol == symbol; });
    if (!listed) linked.kernels.push_back({.expression = symbol, .symbol = symbol});
  }
  std::ranges::sort(linked.kernels, {}, &KernelInfo::expression);
}

// Each kernel that was asked for is there. What the inputs list beside these may be variables, and is not
// missed.
Outcome check_complete(const LinkSpec& spec, const Artifact& linked) {
  const auto there = symbols_of(linked);
  for (const auto& kernel : linked.kernels) {
    const bool asked_for = std::find(spec.kernels.begin(), spec.kernels.end(), kernel.expression) !=
                           spec.kernels.end();
    if (!asked_for || std::find(there.begin(), there.end(), kernel.symbol) != there.end()) continue;
    return fail(
        ErrorCode::unknown_kernel,
        fmt::format("{}: the linked image has no kernel '{}'{}{}", spec.name, kernel.expression,
                    there.empty() ? "" : ". It has ", fmt::join(there, ", ")));
  }
  return {};
}

Error described(const LinkSpec& spec, Error error, const vendor::NvJitLink& linker) {
  error.message = fmt::format("{} for {}: {} could not link it: {}; the options were: {}",
                              spec.name, spec.target.arch(), linker.text(), error.message,
                              fmt::join(all_options(linker, spec), " "));
  return error;
}

}  // namespace

Result<Recipe> link_recipe(const LinkSpec& spec) {
  for (const auto check : {check_inputs, check_target, check_options}) {
    if (auto checked = check(spec); !checked) return tl::unexpected(checked.error());
  }
  if (const auto wanted = wanted_kernels(spec); !wanted) return tl::unexpected(wanted.error());
  return make_recipe({.verb = "link",
                      .name = spec.name,
                      .images = spec.inputs,
                      .options = spec.options,
                      .expressions = spec.kernels,
                      .arch = spec.target.arch(),
                      .kind = to_string(spec.target.kind())});
}

Result<Artifact> link_images(const vendor::NvJitLink& linker, const LinkSpec& spec) {
  const Stopwatch watch;
  if (auto checked = check_link_inputs(spec); !checked) return tl::unexpected(checked.error());
  auto kernels = wanted_kernels(spec);
  if (!kernels) return tl::unexpected(kernels.error());
  std::vector<vendor::LinkerInput> inputs;
  for (const auto& input : spec.inputs) {
    inputs.push_back({input_kind(input).value_or(ImageKind::cubin), input.program, input.image});
  }
  const bool to_ptx = spec.target.kind() == ImageKind::ptx;
  auto linked = linker.link(all_options(linker, spec), inputs, to_ptx);
  if (!linked) return tl::unexpected(described(spec, std::move(linked.error()), linker));

  Artifact artifact;
  artifact.program = spec.name;
  artifact.arch = spec.target.arch();
  artifact.kind = to_string(spec.target.kind());
  artifact.image = std::move(linked->image);
  artifact.log = std::move(linked->log);
  artifact.kernels = std::move(*kernels);
  add_facts(artifact, spec.kernels.empty());
  if (to_ptx && spec.kernels.empty()) add_kernels_of_ptx(artifact);
  if (auto checked = check_complete(spec, artifact); !checked)
    return tl::unexpected(checked.error());
  artifact.compile_us = watch.microseconds();
  return artifact;
}

}  // namespace kiln
