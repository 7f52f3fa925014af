// Input: how (u8). Bit 0: the rest is a whole database file; else it is patches of a sound one, each an
// offset u24 and a u8 to flip bits with. Bit 1: before the patches, a u24 to cut the file at. Bit 2: it
// is written to as well.

#include <gtest/gtest.h>

#include "fault_cache.h"
#include "folder_image.h"
#include "fuzz.h"
#include "in_memory.h"

namespace {

using kiln::Cache;
using kiln::test::FolderImage;
using kiln::test::Sample;

struct World {
  World()
      : folder((kiln::test::work_in_memory(), std::make_unique<kiln::test::TemporaryFolder>())) {
    // An expectation that fails throws, which ends the process, so that the fuzzer keeps the input.
    GTEST_FLAG_SET(throw_on_failure, true);
    for (const Sample& sample : samples) {
      Cache cache = kiln::test::open_to_write(folder->path()).value();
      kiln::test::put(cache, sample).value();
    }
    sound = kiln::test::load_folder(folder->path());
    database = kiln::test::database_of(folder->path()).filename();
  }

  const std::vector<Sample> samples{kiln::test::make_sample(1), kiln::test::make_sample(2, 9'000)};
  std::unique_ptr<kiln::test::TemporaryFolder> folder;
  FolderImage sound;
  std::string database;
};

std::string patched(std::string bytes, kiln::fuzz::Input input, bool cut) {
  if (cut) bytes.resize(input.number(3) % (bytes.size() + 1));
  while (!bytes.empty() && !input.rest().empty()) {
    char& byte = bytes[input.number(3) % bytes.size()];
    byte ^= static_cast<char>(input.number(1));
  }
  return bytes;
}

/// Of a patched file whatever is served is right; a file made up whole may say anything.
void look(Cache& cache, const Sample& sample, bool made_up) {
  if (made_up) {
    static_cast<void>(cache.find(sample.request, sample.witness.roots,
                                 [](const kiln::Candidate&) { return true; }));
    static_cast<void>(cache.list());
    static_cast<void>(cache.kernels());
    return;
  }
  const auto served = kiln::test::find_checked(cache, sample);
  EXPECT_TRUE(!served || kiln::test::same_artifact(*served, kiln::test::as_found(sample)));
  kiln::test::inspect_checked(cache, sample);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  kiln::fuzz::Input input(kiln::fuzz::view(data, size));
  const std::uint64_t how = input.number(1);
  const bool made_up = (how & 1) != 0;
  FolderImage image = world.sound;
  std::string& bytes = image[world.database];
  bytes = made_up ? std::string(input.rest()) : patched(bytes, input, (how & 2) != 0);
  kiln::test::store_folder(image, world.folder->path());

  const bool writes = (how & 4) != 0;
  auto cache = writes ? kiln::test::open_to_write(world.folder->path())
                      : kiln::test::open_to_read(world.folder->path());
  if (!cache) return 0;
  for (const Sample& sample : world.samples) {
    look(*cache, sample, made_up);
    if (writes) static_cast<void>(kiln::test::put(*cache, sample));
  }
  return 0;
}
