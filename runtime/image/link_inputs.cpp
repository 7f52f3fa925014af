#include "image/link_inputs.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "image/cubin.h"
#include "image/cubin_bounds.h"
#include "image/ptx.h"

namespace kiln {

namespace {

Result<std::vector<std::string>> definitions_of_cubin(const LinkSpec& spec, const Artifact& input) {
  auto info = read_cubin(input.image);
  if (!info || !is_within_bounds(input.image)) {
    return fail(ErrorCode::link_failed,
                fmt::format("{}: the input {} is no sound cubin", spec.name, input.program));
  }
  if (!info->relocatable) {
    return fail(ErrorCode::link_failed,
                fmt::format("{}: the input {} is no relocatable cubin: compile it with the option "
                            "-rdc=true",
                            spec.name, input.program));
  }
  return std::move(info->definitions);
}

std::vector<std::string> definitions_of_ptx(const Artifact& input) {
  std::vector<std::string> names;
  for (const auto& definition : read_ptx(input.image)) {
    if (!definition.is_weak) names.emplace_back(definition.name);
  }
  return names;
}

Result<std::vector<std::string>> definitions(const LinkSpec& spec, const Artifact& input) {
  if (input.kind == to_string(ImageKind::cubin)) return definitions_of_cubin(spec, input);
  if (input.kind == to_string(ImageKind::ptx)) return definitions_of_ptx(input);
  return std::vector<std::string>{};
}

}  // namespace

Outcome check_link_inputs(const LinkSpec& spec) {
  std::map<std::string, std::string> definer;
  for (const auto& input : spec.inputs) {
    auto names = definitions(spec, input);
    if (!names) return tl::unexpected(std::move(names.error()));
    for (auto& name : *names) {
      const auto [at, is_first] = definer.emplace(std::move(name), input.program);
      if (is_first) continue;
      return fail(
          ErrorCode::link_failed,
          fmt::format("{}: {} is defined in {} and again in {}: make one of them static, or "
                      "leave one out",
                      spec.name, at->first, at->second, input.program));
    }
  }
  return {};
}

}  // namespace kiln
