#include "population.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <stdexcept>

#include "bench_cache.h"
#include "file_cache.h"

namespace kiln::bench {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  explicit Folder(const fs::path& parent) {
    std::string name = (parent / "kiln-bench-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no folder can be made: " + name);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }

  fs::path path;
};

fs::path memory_folder() {
  const fs::path shared = "/dev/shm";
  return ::access(shared.c_str(), W_OK) == 0 ? shared : data_folder();
}

/// Writes back what is dirty: later measurements must not wait for it.
void settle() {
  const int folder = ::open(data_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ::syncfs(folder);
  ::close(folder);
}

void fill_files(const fs::path& directory, FileCache::Layout layout, std::size_t entries) {
  FileCache files(directory, layout);
  for (std::uint64_t number = 0; number < entries; ++number) {
    files.put(digest_of(make_request(number).material()), make_image(number));
  }
}

Population make_population(std::size_t entries) {
  const std::string name = std::to_string(entries);
  Population made{.entries = entries,
                  .cache = make_cache("cache-" + name, entries),
                  .flat_files = data_folder() / ("flat-" + name),
                  .fanned_files = data_folder() / ("fanned-" + name)};
  fill_files(made.flat_files, FileCache::Layout::flat, entries);
  fill_files(made.fanned_files, FileCache::Layout::fanned, entries);
  settle();
  return made;
}

}  // namespace

const fs::path& data_folder() {
  static const Folder folder([] {
    const char* named = std::getenv("KILN_BENCH_DIR");
    return named ? fs::absolute(named) : fs::current_path();
  }());
  return folder.path;
}

fs::path make_cache(const std::string& name, std::size_t entries,
                    const std::function<Sample(std::uint64_t)>& sample) {
  const Folder memory(memory_folder());
  fs::path file;
  {
    Cache cache = open_cache(memory.path);
    file = cache.file();
    for (std::uint64_t number = 0; number < entries; ++number) put(cache, sample(number));
  }
  const fs::path directory = data_folder() / name;
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms::owner_all);
  fs::copy_file(file, directory / file.filename());
  return directory;
}

const Population& population(std::size_t entries) {
  static std::map<std::size_t, Population> made;
  const auto found = made.find(entries);
  if (found != made.end()) return found->second;
  return made.emplace(entries, make_population(entries)).first->second;
}

}  // namespace kiln::bench
