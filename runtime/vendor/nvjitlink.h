#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"
#include "kiln/target.h"
#include "vendor/library_search.h"

namespace kiln::vendor {

/// Looks for nvJitLink. `exact` goes alone, with no fallback; `beside_nvrtc` is NVRTC's folder.
[[nodiscard]] LibrarySearch find_nvjitlink(const std::optional<std::filesystem::path>& exact,
                                           const std::filesystem::path& beside_nvrtc);

/// One image that goes into a link. Borrowed.
struct LinkerInput {
  ImageKind kind;
  std::string name;  ///< For the linker's messages.
  std::string_view image;
};

/// The result of a link.
struct Linked {
  std::string image;
  std::string log;  ///< What the linker said although it succeeded.
};

/// nvJitLink, mapped; it stays so. A handle, safe to use from any thread.
class NvJitLink {
 public:
  /// Errors: compiler_missing, where it is not found, cannot be mapped, lacks a function, or where kiln
  /// was built without its header.
  [[nodiscard]] static Result<NvJitLink> open(const LibrarySearch& search);

  /// "nvJitLink 13.0".
  [[nodiscard]] const std::string& text() const noexcept;

  /// Whether it has a cache of its own, and so the option `-no-cache` that turns it off. Newer ones do.
  [[nodiscard]] bool has_own_cache() const;

  /// Links to a cubin, or to PTX where `to_ptx` says so. Fails where the linker reports anything about an
  /// input: the linker itself goes on without that input, and calls the rest a success.
  /// Errors: link_failed, invalid_option or unknown_arch with the linker's whole log; the message is its
  /// first line.
  /// REQUIRES: the images are sound, and cubins and PTX define nothing twice. Else the linker crashes, or
  /// takes the first definition.
  [[nodiscard]] Result<Linked> link(const std::vector<std::string>& options,
                                    const std::vector<LinkerInput>& inputs, bool to_ptx) const;

 private:
  struct Functions;
  explicit NvJitLink(std::shared_ptr<const Functions> functions) noexcept;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace kiln::vendor
