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

/// Looks for nvFatbin. `exact` goes alone, with no fallback; `beside_nvrtc` is NVRTC's folder.
[[nodiscard]] LibrarySearch find_nvfatbin(const std::optional<std::filesystem::path>& exact,
                                          const std::filesystem::path& beside_nvrtc);

/// One image that goes into a fatbin. Borrowed.
struct FatbinMember {
  ImageKind kind;            ///< cubin or ptx.
  std::string architecture;  ///< "90a", without what stands before it.
  std::string name;          ///< For the tools that take a fatbin apart.
  std::string_view image;
};

/// nvFatbin, mapped; it stays so. A handle, safe to use from any thread.
class NvFatbin {
 public:
  /// Errors: compiler_missing, where it is not found, cannot be mapped, lacks a function, or where kiln
  /// was built without its header.
  [[nodiscard]] static Result<NvFatbin> open(const LibrarySearch& search);

  /// "nvFatbin 13.0".
  [[nodiscard]] const std::string& text() const noexcept;

  /// A fatbin of these, in their order. Errors: link_failed, with nvFatbin's own words and which
  /// member they are about.
  [[nodiscard]] Result<std::string> pack(const std::vector<FatbinMember>& members) const;

 private:
  struct Functions;
  explicit NvFatbin(std::shared_ptr<const Functions> functions) noexcept;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace kiln::vendor
