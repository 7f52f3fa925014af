#include "image/kernel_facts.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/cubin.h"
#include "kiln/target.h"

namespace kiln {

namespace {

// Looks among kernels, functions and variables, since NVRTC gives names for all of them.
bool defines(const CubinInfo& cubin, const std::string& symbol) {
  const auto is_it = [&](const std::string& name) { return name == symbol; };
  return std::any_of(cubin.definitions.begin(), cubin.definitions.end(), is_it) ||
         std::any_of(cubin.others.begin(), cubin.others.end(), is_it) ||
         std::any_of(cubin.kernels.begin(), cubin.kernels.end(),
                     [&](const KernelInfo& kernel) { return kernel.symbol == symbol; });
}

KernelInfo named(KernelInfo kernel, std::string expression) {
  kernel.expression = std::move(expression);
  return kernel;
}

bool is_part_of_word(char c) {
  return c == '_' || c == '$' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool names(std::string_view ptx, std::string_view symbol) {
  for (auto at = ptx.find(symbol); at != std::string_view::npos; at = ptx.find(symbol, at + 1)) {
    const auto end = at + symbol.size();
    if ((at == 0 || !is_part_of_word(ptx[at - 1])) &&
        (end == ptx.size() || !is_part_of_word(ptx[end]))) {
      return true;
    }
  }
  return false;
}

template <class Has>
const KernelInfo* first_without(const std::vector<KernelInfo>& kernels, const Has& has) {
  const auto at = std::find_if(kernels.begin(), kernels.end(),
                               [&](const KernelInfo& kernel) { return !has(kernel.symbol); });
  return at != kernels.end() ? &*at : nullptr;
}

}  // namespace

void add_facts(Artifact& artifact, bool all) {
  const auto info = read_cubin(artifact.image);
  if (!info) return;
  for (const auto& kernel : info->kernels) {
    bool listed = false;
    for (auto& known : artifact.kernels) {
      if (known.symbol != kernel.symbol) continue;
      known = named(kernel, known.expression);
      listed = true;
    }
    if (!listed && all) artifact.kernels.push_back(named(kernel, kernel.symbol));
  }
  std::ranges::sort(artifact.kernels, {}, &KernelInfo::expression);
}

const KernelInfo* kernel_without_code(const Artifact& artifact) {
  if (artifact.kind == to_string(ImageKind::ptx)) {
    return first_without(artifact.kernels, [&](const std::string& symbol) {
      return names(std::string_view(artifact.image), symbol);
    });
  }
  const auto info = read_cubin(artifact.image);
  if (!info) return nullptr;
  return first_without(artifact.kernels,
                       [&](const std::string& symbol) { return defines(*info, symbol); });
}

}  // namespace kiln
