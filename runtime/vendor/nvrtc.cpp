#include "vendor/nvrtc.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace kiln::vendor {

namespace {

template <class Function>
bool bind(const SharedLibrary& library, const char* name, Function& function,
          std::string& missing) {
  function = reinterpret_cast<Function>(library.symbol(name));
  if (function == nullptr) missing = name;
  return function != nullptr;
}

// Those without which kiln gets along.
void bind_optional(const SharedLibrary& library, Nvrtc& table) {
  std::string missing;
  bind(library, "nvrtcSetFlowCallback", table.set_flow_callback, missing);
  bind(library, "nvrtcGetPCHHeapSize", table.get_precompiled_heap_size, missing);
  bind(library, "nvrtcSetPCHHeapSize", table.set_precompiled_heap_size, missing);
}

// The first function that is not there stops it; its name is in `missing`.
bool bind_all(const SharedLibrary& library, Nvrtc& table, std::string& missing) {
  return bind(library, "nvrtcVersion", table.version, missing) &&
         bind(library, "nvrtcGetErrorString", table.get_error_string, missing) &&
         bind(library, "nvrtcGetNumSupportedArchs", table.get_num_supported_archs, missing) &&
         bind(library, "nvrtcGetSupportedArchs", table.get_supported_archs, missing) &&
         bind(library, "nvrtcCreateProgram", table.create_program, missing) &&
         bind(library, "nvrtcDestroyProgram", table.destroy_program, missing) &&
         bind(library, "nvrtcAddNameExpression", table.add_name_expression, missing) &&
         bind(library, "nvrtcCompileProgram", table.compile_program, missing) &&
         bind(library, "nvrtcGetLoweredName", table.get_lowered_name, missing) &&
         bind(library, "nvrtcGetProgramLogSize", table.get_program_log_size, missing) &&
         bind(library, "nvrtcGetProgramLog", table.get_program_log, missing) &&
         bind(library, "nvrtcGetPTXSize", table.get_ptx_size, missing) &&
         bind(library, "nvrtcGetPTX", table.get_ptx, missing) &&
         bind(library, "nvrtcGetCUBINSize", table.get_cubin_size, missing) &&
         bind(library, "nvrtcGetCUBIN", table.get_cubin, missing) &&
         bind(library, "nvrtcGetLTOIRSize", table.get_ltoir_size, missing) &&
         bind(library, "nvrtcGetLTOIR", table.get_ltoir, missing) &&
         bind(library, "nvrtcGetOptiXIRSize", table.get_optixir_size, missing) &&
         bind(library, "nvrtcGetOptiXIR", table.get_optixir, missing);
}

tl::unexpected<Error> unusable(const NvrtcFiles& files, std::string_view why) {
  return fail(
      ErrorCode::compiler_missing,
      fmt::format("NVRTC cannot be used: {} (from {}): {}. Name another one with KILN_NVRTC, or "
                  "reinstall the package nvidia-cuda-nvrtc",
                  files.library.string(), files.origin, why));
}

// NVRTC opens the builtins of its own version by bare name, with no search path of its own, in the midst of
// a compile: opened before, they are found.
Result<void> open_builtins(const NvrtcFiles& files, const Nvrtc& table) {
  const auto name = fmt::format("libnvrtc-builtins.so.{}.{}", table.major, table.minor);
  const auto beside = files.library.parent_path() / name;
  std::error_code ignored;
  const bool is_beside = std::filesystem::exists(beside, ignored);
  const auto opened = SharedLibrary::open(is_beside ? beside.string() : name);
  if (opened) return {};
  if (is_beside) return unusable(files, opened.error().message);
  const auto others = files.builtins.empty()
                          ? std::string()
                          : fmt::format(" ({} is that of another)", files.builtins.string());
  return unusable(files,
                  fmt::format("its builtins, {}, are neither beside it{} nor where the loader "
                              "looks: {}",
                              name, others, opened.error().message));
}

}  // namespace

std::string Nvrtc::text() const { return fmt::format("NVRTC {}.{}", major, minor); }

std::vector<int> Nvrtc::supported_archs() const {
  int count = 0;
  if (get_num_supported_archs(&count) != NVRTC_SUCCESS || count <= 0) return {};
  std::vector<int> archs(static_cast<std::size_t>(count));
  if (get_supported_archs(archs.data()) != NVRTC_SUCCESS) return {};
  return archs;
}

Result<Nvrtc> open_nvrtc(const NvrtcFiles& files) {
  const auto library = SharedLibrary::open(files.library.string());
  if (!library) return unusable(files, library.error().message);
  Nvrtc table{};
  std::string missing;
  if (!bind_all(*library, table, missing)) return unusable(files, "it has no function " + missing);
  bind_optional(*library, table);
  if (table.version(&table.major, &table.minor) != NVRTC_SUCCESS)
    return unusable(files, "it tells no version");
  if (auto builtins = open_builtins(files, table); !builtins)
    return tl::unexpected(std::move(builtins.error()));
  return table;
}

}  // namespace kiln::vendor
