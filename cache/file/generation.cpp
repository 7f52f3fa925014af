#include "file/generation.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace kiln::storage {
namespace {

constexpr std::string_view first_name = "kernels.v1.db";
constexpr std::string_view prefix = "kernels.v1.g";
constexpr std::string_view suffix = ".db";

/// No generation has a higher number, so that the next one never wraps to 0.
constexpr unsigned greatest = 1'000'000'000;

/// The generation of this file name; 0 for any other name.
unsigned generation_of(std::string_view name) {
  if (name == first_name) return 1;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return 0;
  const auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  // "g02" would be a second name of "g2".
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && number > 1 && number < greatest && generation_name(number) == name ? number : 0;
}

std::vector<unsigned> generations_in(const std::filesystem::path& directory) {
  struct Close {
    void operator()(DIR* listing) const noexcept { ::closedir(listing); }
  };
  const std::unique_ptr<DIR, Close> listing(::opendir(directory.c_str()));
  std::vector<unsigned> found;
  if (!listing) return found;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (const unsigned number = generation_of(entry->d_name); number != 0) found.push_back(number);
  }
  return found;
}

}  // namespace

std::string generation_name(unsigned generation) {
  return generation == 1 ? std::string(first_name)
                         : fmt::format("{}{}{}", prefix, generation, suffix);
}

unsigned current_generation(const std::filesystem::path& directory) {
  const auto found = generations_in(directory);
  return found.empty() ? 0 : *std::max_element(found.begin(), found.end());
}

std::vector<std::filesystem::path> generations_before(const std::filesystem::path& directory,
                                                      unsigned generation) {
  auto found = generations_in(directory);
  std::erase_if(found, [&](unsigned number) { return number >= generation; });
  std::sort(found.begin(), found.end());
  std::vector<std::filesystem::path> files;
  files.reserve(found.size());
  for (const unsigned number : found) files.push_back(directory / generation_name(number));
  return files;
}

void remove_generations_before(const std::filesystem::path& directory, unsigned generation) {
  for (const auto& file : generations_before(directory, generation)) {
    // Best effort: what cannot be removed costs room and is never read again.
    static_cast<void>(::unlink(file.c_str()));
    static_cast<void>(::unlink((file.string() + "-journal").c_str()));
  }
}

}  // namespace kiln::storage
