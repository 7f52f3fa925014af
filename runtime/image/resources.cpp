#include "kiln/resources.h"

#include <algorithm>
#include <cstddef>

#include "image/cubin.h"
#include "image/multiprocessor.h"
#include "program/architecture.h"

namespace kiln {

namespace {

std::uint32_t rounded_up(std::uint32_t value, std::uint32_t granularity) {
  return (value + granularity - 1) / granularity * granularity;
}

// Each quarter has registers of its own, and a warp does not move: so a block of few warps may leave some unused.
std::uint32_t blocks_by_registers(std::uint32_t registers, std::uint32_t warps) {
  if (registers == 0) return most_threads_of_a_block;
  const auto of_a_warp = rounded_up(registers * threads_of_a_warp, register_granularity);
  if (rounded_up(warps, quarters) * of_a_warp > registers_of_a_multiprocessor) return 0;
  return registers_of_a_multiprocessor / quarters / of_a_warp * quarters / warps;
}

std::uint32_t blocks_by_shared_memory(const Multiprocessor& device, std::uint32_t shared_bytes) {
  if (shared_bytes > device.shared_bytes) return 0;
  const auto taken = rounded_up(shared_bytes + device.reserved_bytes, device.shared_granularity);
  return taken == 0 ? device.blocks : device.shared_bytes / taken;
}

}  // namespace

std::vector<KernelCode> kernel_code(const Artifact& artifact) {
  std::vector<KernelCode> code(artifact.kernels.size());
  const auto info = read_cubin(artifact.image);
  if (!info) return code;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto found =
        std::ranges::find(info->kernels, artifact.kernels[at].symbol, &KernelInfo::symbol);
    if (found != info->kernels.end())
      code[at] = info->code[static_cast<std::size_t>(found - info->kernels.begin())];
  }
  return code;
}

std::optional<Occupancy> occupancy(std::string_view arch, const KernelInfo& kernel,
                                   std::uint32_t threads) {
  const auto read = read_architecture(arch);
  const auto device = read ? multiprocessor(read->version) : std::nullopt;
  // An image whose parameters are not known may still tell its registers, as a fatbin does; PTX tells none.
  if (!device || kernel.registers == 0) return std::nullopt;
  const auto warps = rounded_up(threads, threads_of_a_warp) / threads_of_a_warp;
  Occupancy reached{.max_warps = device->threads / threads_of_a_warp};
  if (threads > most_threads_of_a_block) return reached;
  reached.blocks = std::min({reached.max_warps / warps, device->blocks,
                             blocks_by_registers(kernel.registers, warps),
                             blocks_by_shared_memory(*device, kernel.shared_bytes)});
  reached.warps = reached.blocks * warps;
  return reached;
}

}  // namespace kiln
