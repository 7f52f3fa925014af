#include "vendor/nvrtc.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "vendor/library_opening.h"

namespace kiln::vendor {

namespace {

// Amid a compile NVRTC opens the builtins of its own version by bare name, and has no search path of its own.
// It finds them where they were opened before.
Outcome open_builtins(const LibraryFiles& files, const Nvrtc& table) {
  const auto name = fmt::format("libnvrtc-builtins.so.{}.{}", table.major, table.minor);
  const auto beside = files.library.parent_path() / name;
  std::error_code ignored;
  const bool is_beside = std::filesystem::exists(beside, ignored);
  const auto opened = SharedLibrary::open(is_beside ? beside.string() : name);
  if (opened) return {};
  if (is_beside) return unusable(wanted_nvrtc(), files, opened.error().message);
  const auto others = files.builtins.empty()
                          ? std::string()
                          : fmt::format(" ({} is that of another)", files.builtins.string());
  return unusable(wanted_nvrtc(), files,
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

Result<Nvrtc> Nvrtc::open(const LibrarySearch& search) {
  const auto library = open_library(wanted_nvrtc(), search);
  if (!library) return tl::unexpected(library.error());
  const auto& files = *search.files;
  Nvrtc table;
  Binder binder([&](const char* name) { return library->symbol(name); });
  KILN_NVRTC_FUNCTIONS(KILN_FUNCTION_BIND)
  if (!binder.missing().empty())
    return unusable(wanted_nvrtc(), files, "it has no function " + binder.missing());
  if (table.version(&table.major, &table.minor) != NVRTC_SUCCESS)
    return unusable(wanted_nvrtc(), files, "it tells no version");
  if (auto builtins = open_builtins(files, table); !builtins)
    return tl::unexpected(std::move(builtins.error()));
  return table;
}

}  // namespace kiln::vendor
