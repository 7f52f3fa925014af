#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <zstd.h>

#include "kiln/digest.h"

namespace kiln::bench {

/// What kiln::Cache is measured against: a file for each entry, named by its digest, which holds a
/// checksum, the image's size and the image in zstd. Everything that makes it safe is left out.
class FileCache {
 public:
  enum class Layout {
    flat,    ///< All files in one directory.
    fanned,  ///< In 256 directories, as ccache and git have it.
  };

  FileCache(const std::filesystem::path& directory, Layout layout);

  void put(const Digest& name, std::string_view image);

  /// Ends the process where there is no sound file of this name.
  [[nodiscard]] std::string find(const Digest& name);

 private:
  [[nodiscard]] std::string path_of(const Digest& name) const;
  [[nodiscard]] std::string_view read(const Digest& name);

  struct Free {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };

  const std::string directory_;
  const Layout layout_;
  const std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
  std::string buffer_;  ///< Kept, because a file's size would have to be asked for.
};

}  // namespace kiln::bench
