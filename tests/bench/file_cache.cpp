#include "file_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kiln::bench {
namespace {

constexpr std::size_t most_bytes = 4 << 20;

struct Header {
  Digest checksum;
  std::uint64_t image_bytes;
};

[[noreturn]] void give_up(const char* doing, const std::string& path) {
  std::fprintf(stderr, "%s '%s' failed\n", doing, path.c_str());
  std::exit(1);
}

std::string compress(std::string_view image) {
  std::string bytes(ZSTD_compressBound(image.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), image.data(), image.size(), 3));
  return bytes;
}

}  // namespace

FileCache::FileCache(const std::filesystem::path& directory, Layout layout)
    : directory_(directory.string() + '/'), layout_(layout), buffer_(most_bytes, '\0') {
  std::filesystem::create_directories(directory);
  if (layout == Layout::flat) return;
  for (int first = 0; first < 256; ++first) {
    Digest digest;
    digest.bytes[0] = static_cast<std::uint8_t>(first);
    std::filesystem::create_directory(directory / digest.hex().substr(0, 2));
  }
}

std::string FileCache::path_of(const Digest& name) const {
  std::string hex = name.hex();
  if (layout_ == Layout::fanned) hex.insert(2, 1, '/');
  return directory_ + hex;
}

void FileCache::put(const Digest& name, std::string_view image) {
  const std::string compressed = compress(image);
  const Header header{digest_of(compressed), image.size()};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes += compressed;

  const std::string path = path_of(name);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    give_up("writing", path);
  }
  ::close(file);
}

std::string_view FileCache::read(const Digest& name) {
  const std::string path = path_of(name);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) give_up("opening", path);
  const ssize_t size = ::read(file, buffer_.data(), buffer_.size());
  ::close(file);
  if (size < static_cast<ssize_t>(sizeof(Header))) give_up("reading", path);
  return std::string_view(buffer_).substr(0, static_cast<std::size_t>(size));
}

std::string FileCache::find(const Digest& name) {
  const std::string_view bytes = read(name);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view stored = bytes.substr(sizeof header);
  if (digest_of(stored) != header.checksum) give_up("checking", path_of(name));
  std::string image(header.image_bytes, '\0');
  const std::size_t size =
      ZSTD_decompressDCtx(context_.get(), image.data(), image.size(), stored.data(), stored.size());
  if (size != image.size()) give_up("decompressing", path_of(name));
  return image;
}

}  // namespace kiln::bench
