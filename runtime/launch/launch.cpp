#include "kiln/launch.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "launch/access.h"
#include "launch/kernel_record.h"
#include "launch/launch_attributes.h"
#include "launch/launch_checks.h"

namespace kiln {
namespace {

/// One launch, as it goes through the functions below.
struct Launch {
  const KernelRecord& record;
  CUstream stream;
  const LaunchConfig& config;
  void** pointers;
};

CUresult call_driver(const Launch& launch) {
  const auto& [record, stream, config, pointers] = launch;
  return record.driver->functions().launch_kernel(
      record.function(), config.grid.x, config.grid.y, config.grid.z, config.block.x,
      config.block.y, config.block.z, config.shared_bytes, stream, pointers, nullptr);
}

CUresult call_driver(const Launch& launch, LaunchAttributes& attributes) {
  const auto& [record, stream, config, pointers] = launch;
  const CUlaunchConfig arguments = driver_config(stream, config, attributes);
  return record.driver->functions().launch_kernel_ex(&arguments, record.function(), pointers,
                                                     nullptr);
}

Result<CUresult> call_driver_with_attributes(const Launch& launch) {
  LaunchAttributes attributes(launch.config);
  if (auto sound = attributes.check(launch.record, AttributeUse::launch); !sound)
    return tl::unexpected(std::move(sound.error()));
  if (launch.record.driver->functions().launch_kernel_ex == nullptr) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel '{}': the driver is too old for launch attributes; it has no "
                            "cuLaunchKernelEx, which came with CUDA 11.6. Update the driver.",
                            launch.record.info.expression));
  }
  return call_driver(launch, attributes);
}

/// How many blocks a cooperative launch may have, where the driver says that this one has more.
std::string explanation(const Launch& launch, CUresult result) {
  if (result != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) return {};
  const auto& [record, stream, config, pointers] = launch;
  int blocks = 0;
  int multiprocessors = 0;
  const auto threads = static_cast<int>(config.block.x * config.block.y * config.block.z);
  if (record.driver->functions().max_active_blocks(&blocks, record.function(), threads,
                                                   config.shared_bytes) != CUDA_SUCCESS ||
      record.ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiprocessors) != CUDA_SUCCESS) {
    return {};
  }
  return fmt::format("; the device runs {} blocks of this kernel at once",
                     blocks * multiprocessors);
}

Outcome outcome(const Launch& launch, CUresult result) {
  if (result == CUDA_SUCCESS) return {};
  const auto& [record, stream, config, pointers] = launch;
  auto error = record.driver->failure(
      fmt::format("kernel '{}': the launch failed (grid {}, block {}, {} bytes of dynamic shared "
                  "memory)",
                  record.info.expression, text_of(config.grid), text_of(config.block),
                  config.shared_bytes),
      result);
  error.value().message += explanation(launch, result);
  return error;
}

/// A launch that is not known to be in order: the first one, one that asks for more, one whose attributes have to be looked at,
/// or one that the driver refused.
[[gnu::noinline]] Outcome launch_carefully(const Launch& launch) {
  const KernelRecord& record = launch.record;
  if (auto ready = record.driver->ensure_context(record.device); !ready) return ready;
  if (auto ready = prepare_launch(record, launch.config); !ready) return ready;
  if (!has_attributes(launch.config)) return outcome(launch, call_driver(launch));
  const auto result = call_driver_with_attributes(launch);
  if (!result) return tl::unexpected(result.error());
  return outcome(launch, *result);
}

/// Launches where the driver knows each attribute, and they are such as kiln has nothing to say about.
[[gnu::noinline]] CUresult launch_with_attributes(const Launch& launch, bool& tried) {
  const auto& [record, stream, config, pointers] = launch;
  LaunchAttributes attributes(config);
  tried = attributes.are_known_to(*record.driver) && attributes_are_plain(record, config);
  return tried ? call_driver(launch, attributes) : CUDA_SUCCESS;
}

/// Launches where everything is known to be in order, as it is for nearly every launch. Gives no Result,
/// since that would be moved around.
CUresult launch_quickly(const Launch& launch, const detail::GivenArgs& given, bool& tried) {
  const KernelRecord& record = launch.record;
  tried = (!given.checked || record.taken->are_like(given) || takes(record, given)) &&
          record.limits->allow(launch.config);
  if (!tried) return CUDA_SUCCESS;
  return has_attributes(launch.config) ? launch_with_attributes(launch, tried)
                                       : call_driver(launch);
}

/// The launch that launch_quickly() did not try, or tried in vain.
[[gnu::noinline, gnu::cold]] Outcome launch_slowly(const Launch& launch,
                                                   const detail::GivenArgs& given, bool tried,
                                                   CUresult result) {
  if (auto alive = check_alive(launch.record); !alive) return alive;
  if (given.checked && !launch.record.taken->are_like(given) && !takes(launch.record, given))
    return argument_error(launch.record, given);
  // A thread that never used CUDA has no context. Only here is that looked for, so that the ordinary launch
  // pays nothing.
  // What has attributes was not looked at as closely as could be: what is wrong with them is to be said in words.
  if (!tried || result == CUDA_ERROR_INVALID_CONTEXT || has_attributes(launch.config))
    return launch_carefully(launch);
  return outcome(launch, result);
}

/// Tells the observer where the launch failed.
[[gnu::noinline]] Outcome reported(const KernelRecord& record, Outcome outcome) {
  if (!outcome && !record.limits->ended && record.failed) record.failed(outcome.error());
  return outcome;
}

}  // namespace

Outcome Kernel::launch_given(CUstream stream, const LaunchConfig& config,
                             const detail::GivenArgs& given) const {
  const Launch launch{*record_, stream, config, given.pointers};
  bool tried = false;
  const CUresult result = launch_quickly(launch, given, tried);
  if (tried && result == CUDA_SUCCESS) return {};
  return reported(*record_, launch_slowly(launch, given, tried, result));
}

Outcome Kernel::launch_args(CUstream stream, const LaunchConfig& config, const Args& args,
                            bool checks) const {
  if (!args.fits()) return reported(*record_, check_fits(*record_, args));
  return ArgsAccess::with_given(args, [&](detail::GivenArgs& given) {
    given.checked = checks;
    return launch_given(stream, config, given);
  });
}

Outcome Kernel::launch_bytes(CUstream stream, const LaunchConfig& config,
                             std::span<const std::span<const std::byte>> arguments) const {
  using Bytes = std::span<const std::byte>;
  using Passing = detail::ArgPassing<Bytes>;
  constexpr std::size_t most = Args::inline_count;
  static constexpr auto types = [] {
    std::array<const ArgType*, most> same{};
    same.fill(&detail::arg_type<Bytes>);
    return same;
  }();
  std::array<void*, most> pointers;
  std::array<detail::ArgPlace, most> layout;
  std::size_t end = 0;
  const std::size_t count = std::min(arguments.size(), most);
  for (std::size_t at = 0; at < count; ++at) {
    pointers[at] = const_cast<void*>(Passing::data(arguments[at]));
    layout[at] = detail::place(end, *types[at], Passing::size(arguments[at]));
  }
  if (count == arguments.size() && end <= max_argument_bytes)
    return launch_given(stream, config,
                        {pointers.data(), layout.data(), types.data(), count, true});
  Args args;
  for (const Bytes argument : arguments) args.add(argument);
  return launch_args(stream, config, args, true);
}

const KernelInfo& Kernel::info() const noexcept { return record_->info; }

const std::string& Kernel::arch() const noexcept { return record_->arch; }
const std::string& Kernel::image_kind() const noexcept { return record_->image_kind; }

}  // namespace kiln
