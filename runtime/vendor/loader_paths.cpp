#include "vendor/loader_paths.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "system/environment.h"
#include "system/whole_io.h"

namespace kiln::vendor {

namespace {

namespace fs = std::filesystem;

void add_if_there(std::vector<fs::path>& places, const fs::path& place) {
  std::error_code ignored;
  if (fs::is_regular_file(place, ignored)) places.push_back(place);
}

// The cache's layout is glibc's struct cache_file_new (elf/cache.c): a header of 48 bytes that begins
// with this magic, then entries of 24; strings are offsets from the file's beginning.
constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr std::size_t cache_header_size = 48;
constexpr std::size_t cache_entry_size = 24;

std::uint32_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// Whether this string stands there, with its end.
bool holds_at(std::string_view bytes, std::size_t offset, std::string_view string) {
  return offset < bytes.size() && bytes.size() - offset > string.size() &&
         std::memcmp(bytes.data() + offset, string.data(), string.size()) == 0 &&
         bytes[offset + string.size()] == '\0';
}

std::string_view string_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const auto rest = bytes.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

void add_from_cache(std::string_view soname, std::vector<fs::path>& places) {
  const auto content = system::read_file("/etc/ld.so.cache").value_or("");
  const auto magic = content.find(cache_magic);
  if (magic == std::string::npos || content.size() - magic < cache_header_size) return;
  const auto cache = std::string_view(content).substr(magic);
  const std::size_t count = number_at(cache, cache_magic.size());
  if (count > (cache.size() - cache_header_size) / cache_entry_size) return;
  for (std::size_t index = 0; index < count; ++index) {
    const auto entry = cache_header_size + index * cache_entry_size;
    if (!holds_at(cache, number_at(cache, entry + 4), soname)) continue;
    add_if_there(places, fs::path(string_at(cache, number_at(cache, entry + 8))));
  }
}

void add_from_library_path(std::string_view soname, std::vector<fs::path>& places) {
  const char* variable = system::variable("LD_LIBRARY_PATH");
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    // An empty or relative part means the working directory, which is nobody's library folder.
    if (folder.starts_with('/')) add_if_there(places, fs::path(folder) / soname);
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
}

}  // namespace

std::vector<fs::path> loader_paths(std::string_view soname) {
  std::vector<fs::path> places;
  add_from_library_path(soname, places);
  add_from_cache(soname, places);
  for (const auto* folder : {"/lib", "/usr/lib", "/lib64", "/usr/lib64"}) {
    add_if_there(places, fs::path(folder) / soname);
  }
  return places;
}

}  // namespace kiln::vendor
