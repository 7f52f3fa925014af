#include "temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "output.h"

namespace kiln::cli {

TemporaryFolder::TemporaryFolder() {
  std::error_code failure;
  const auto parent = std::filesystem::temp_directory_path(failure);
  auto path = (parent / "kiln-XXXXXX").string();
  if (!failure && ::mkdtemp(path.data()) == nullptr)
    failure = std::error_code(errno, std::generic_category());
  if (failure) {
    refuse(ErrorCode::io_failed,
           fmt::format("the temporary directory {} takes no folder: {}; TMPDIR names another",
                       parent.string(), failure.message()));
  }
  path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code nobody_to_tell;
  std::filesystem::remove_all(path_, nobody_to_tell);
}

}  // namespace kiln::cli
