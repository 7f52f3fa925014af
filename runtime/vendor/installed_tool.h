#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "kiln/error.h"
#include "vendor/installed_compiler.h"
#include "vendor/library_search.h"

namespace kiln {

/// A tool beside the compiler - nvJitLink, nvFatbin - in two steps, each taken once and when first
/// needed: where it lies (all that a hit asks), and mapped. Safe to use from any thread.
template <class Tool>
class InstalledTool {
 public:
  using Find = vendor::LibrarySearch (*)(const std::optional<std::filesystem::path>& exact,
                                         const std::filesystem::path& beside_nvrtc);

  /// `exact` names the only library to consider; else the one that came with the compiler goes first.
  InstalledTool(Find find, std::optional<std::filesystem::path> exact, InstalledCompiler& compiler)
      : find_(find), exact_(std::move(exact)), compiler_(compiler) {}

  /// Where it lies, or where it was looked for.
  [[nodiscard]] const vendor::LibrarySearch& search() {
    std::call_once(searched_, [this] {
      const auto& nvrtc = compiler_.search().files;
      search_ = find_(exact_, nvrtc ? nvrtc->library.parent_path() : std::filesystem::path{});
    });
    return search_;
  }

  /// Maps it. Errors: compiler_missing.
  [[nodiscard]] const Result<Tool>& open() {
    std::call_once(opened_, [this] { tool_ = Tool::open(search()); });
    return tool_;
  }

 private:
  const Find find_;
  const std::optional<std::filesystem::path> exact_;
  InstalledCompiler& compiler_;
  std::once_flag searched_;
  vendor::LibrarySearch search_;
  std::once_flag opened_;
  Result<Tool> tool_ = tl::unexpected(Error{});
};

}  // namespace kiln
