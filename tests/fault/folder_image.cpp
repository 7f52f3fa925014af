#include "folder_image.h"

#include "support.h"

namespace kiln::test {

namespace fs = std::filesystem;

FolderImage load_folder(const fs::path& folder) {
  FolderImage image;
  for (const auto& file : fs::directory_iterator(folder)) {
    image[file.path().filename()] = read_file(file.path());
  }
  return image;
}

void store_folder(const FolderImage& image, const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) {
    if (!image.contains(file.path().filename())) fs::remove(file.path());
  }
  for (const auto& [name, bytes] : image) write_file(folder / name, bytes);
}

}  // namespace kiln::test
