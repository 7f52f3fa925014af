#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compile/worker/worker_search.h"
#include "image/driver_age.h"
#include "kiln/caller_state.h"
#include "kiln/runtime.h"
#include "runtime_impl.h"
#include "vendor/helper_search.h"
#include "vendor/installed_tool.h"
#include "vendor/toolkit_program.h"

namespace kiln {

namespace {

std::vector<std::string> lines_of(const std::vector<vendor::SearchStep>& steps) {
  std::vector<std::string> lines;
  lines.reserve(steps.size());
  for (const auto& step : steps) lines.push_back(vendor::describe(step));
  return lines;
}

template <class Tool>
Availability availability_of(InstalledTool<Tool>& tool) {
  const auto& search = tool.search();
  const auto path = search.files ? search.files->library : std::filesystem::path{};
  const auto& opened = tool.open();
  if (!opened) return {false, {}, opened.error().message, path, {}};
  return {true,
          fmt::format("{}, {} ({})", opened->text(), path.string(), search.files->origin),
          {},
          path,
          lines_of(search.steps)};
}

Availability availability_of(const Result<vendor::ToolkitProgram>& found) {
  if (!found) return {false, {}, found.error().message, {}, {}};
  return {true,
          fmt::format("{} ({})", found->file.string(), found->origin),
          {},
          found->file,
          lines_of(found->steps)};
}

/// The headers that a compiler finds without being told where.
std::string headers_in_words(const std::vector<std::filesystem::path>& include_dirs) {
  std::vector<std::string> folders;
  folders.reserve(include_dirs.size());
  for (const auto& folder : include_dirs) folders.push_back(folder.string());
  return folders.empty() ? "headers of CUDA: none found"
                         : fmt::format("headers of CUDA: {}", fmt::join(folders, ", "));
}

}  // namespace

std::string Runtime::toolchain() const {
  const CallerState caller;
  const auto* toolchain = impl().compiler.toolchain();
  return toolchain != nullptr ? toolchain->text : std::string();
}

Availability Runtime::compiler() const {
  const CallerState caller;
  const auto& search = impl().compiler.search();
  const auto& opened = impl().compiler.open();
  const auto path = search.files ? search.files->library : std::filesystem::path{};
  const auto& include_dirs = impl().compiler.include_dirs();
  if (!opened) return {false, {}, opened.error().message, path, {}, include_dirs};
  auto details = lines_of(search.steps);
  details.push_back(search.files->builtins.empty()
                        ? "builtins: none beside it"
                        : "builtins: " + search.files->builtins.string());
  details.push_back(headers_in_words(include_dirs));
  return {true,
          fmt::format("{}, {} ({})", opened->text(), path.string(), search.files->origin),
          {},
          path,
          std::move(details),
          include_dirs};
}

Availability Runtime::driver() const {
  const CallerState caller;
  const auto& opened = impl().driver();
  if (!opened) return {false, {}, opened.error().message, {}, {}};
  const auto& cuda = **opened;
  const auto device = cuda.describe_current_device();
  const auto all = cuda.describe_devices();
  if (!device) return {false, {}, device.error().message, cuda.path(), {}};
  if (!all) return {false, {}, all.error().message, cuda.path(), {}};
  std::vector<std::string> details;
  details.reserve(all->size());
  for (const auto& each : *all) {
    details.push_back(fmt::format("device {}: {}, compute capability {}.{}", each.handle, each.name,
                                  each.major, each.minor));
  }
  auto description =
      fmt::format("CUDA {}.{}, {} (sm_{}{}), {}", cuda.version() / 1000, cuda.version() % 1000 / 10,
                  device->name, device->major, device->minor, cuda.path().string());
  if (const auto too_old = too_old_for(toolchain(), cuda.version()); !too_old.empty())
    description += "; " + too_old;
  return {true, std::move(description), {}, cuda.path(), std::move(details)};
}

Availability Runtime::linker() const {
  const CallerState caller;
  return availability_of(impl().linker);
}

Availability Runtime::packer() const {
  const CallerState caller;
  return availability_of(impl().packer);
}

Availability Runtime::disassembler() const {
  const CallerState caller;
  return availability_of(impl().nvdisasm());
}

Availability Runtime::unpacker() const {
  const CallerState caller;
  const auto nvdisasm = impl().nvdisasm();
  if (!nvdisasm) return availability_of(nvdisasm);
  return availability_of(
      vendor::find_cuobjdump(nvdisasm->file, impl().settings.nvdisasm.has_value()));
}

Availability Runtime::worker() const {
  const CallerState caller;
  const auto& settings = impl().settings;
  if (settings.compile_workers == 0)
    return {false, {}, "compiles run in this process, since KILN_COMPILE_WORKERS is 0", {}, {}};
  const auto search = find_worker(settings.worker);
  if (search.executable.empty()) return {false, {}, describe_missing(search), {}, {}};
  return {true,
          fmt::format("up to {} at a time, {} ({})", workers_for(settings.compile_workers),
                      search.executable.string(), search.steps.back().origin),
          {},
          search.executable,
          lines_of(search.steps)};
}

Availability Runtime::remote_helper() const {
  const CallerState caller;
  const auto search = find_remote_helper(impl().settings);
  if (search.executable.empty()) return {false, {}, describe_missing_helper(search), {}, {}};
  return {true,
          fmt::format("{} ({})", search.executable.string(), search.steps.back().origin),
          {},
          search.executable,
          lines_of(search.steps)};
}

}  // namespace kiln
