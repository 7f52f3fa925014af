// Two images of a filesystem, mounted one after the other: their files look the same.

#include "source/mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "source/header_files.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t second_ns = 1'000'000'000;

TEST(MountedImages, HoldWhatHasWholeSeconds) {
  const ScratchDirectory scratch;
  write_file(scratch / "a.h", "");
  const auto path = (scratch / "a.h").string();
  auto stamp = stamp_of(path).value();
  stamp.modified_ns = 5 * second_ns;
  stamp.changed_ns = 7 * second_ns;
  EXPECT_TRUE(MountedImages().may_hold(path, stamp));
  ++stamp.changed_ns;
  EXPECT_FALSE(MountedImages().may_hold(path, stamp));
  --stamp.changed_ns, ++stamp.modified_ns;
  EXPECT_FALSE(MountedImages().may_hold(path, stamp));
}

TEST(MountedImages, MayHoldWhatCannotBeLookedAt) {
  EXPECT_TRUE(MountedImages().may_hold("/no/such/file.h", {1, 2, 3, second_ns + 1, second_ns + 1}));
}

TEST(MountedImages, AnOpenFileIsOfTheMountOfItsPath) {
  const ScratchDirectory scratch;
  write_file(scratch / "a.h", "");
  const auto path = (scratch / "a.h").string();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(mount_of(file), mount_of(path));
  EXPECT_FALSE(may_be_of_image(file, {1, 2, 3, second_ns + 1, second_ns + 1}));
  ::close(file);
  EXPECT_EQ(mount_of("/no/such/file.h"), 0U);
  if (mount_of(path) == 0) GTEST_SKIP() << "the kernel tells no mounts apart";
  EXPECT_NE(mount_of("/proc"), mount_of(path));
}

// An ext4 image that holds the tree, and of the clock and of chance nothing.
bool make_image(const fs::path& tree, const fs::path& image) {
  const std::string id = "00000000-0000-0000-0000-000000000001";
  const auto command = "E2FSPROGS_FAKE_TIME=1000000000 mke2fs -q -t ext4 -I 256 -d '" +
                       tree.string() + "' -U " + id + " -E hash_seed=" + id + ",root_owner=0:0 '" +
                       image.string() + "' 1M >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

// One process knows a header of an image while that is mounted, and not when another is.
class HeadersOfImages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      GTEST_SKIP() << "no right to mount";
    }
    fs::create_directory(place_);
    if (mount_of(place_.string()) == 0) GTEST_SKIP() << "the kernel tells no mounts apart";
  }

  void TearDown() override { ::umount2(place_.c_str(), MNT_DETACH); }

  /// Images of two headers that differ in nothing but what they say. An image's change times, in seconds, are those
  /// of the tree, which nobody can set: not equal where a second ended in between.
  bool make_images() {
    for (const std::string number : {"1", "2"}) {
      const fs::path tree = scratch_ / number;
      fs::create_directories(tree);
      write_file(tree / "a.h", "#define A " + number + "\n");
      fs::last_write_time(tree / "a.h", fs::file_time_type(std::chrono::seconds(-1'000'000'000)));
      fs::remove(image(number));
      if (!make_image(tree, image(number))) return false;
    }
    return true;
  }

  fs::path image(const std::string& number) const { return scratch_ / (number + ".ext4"); }

  bool mount_image(const std::string& number) {
    const auto command =
        "mount -o loop,ro '" + image(number).string() + "' '" + place_.string() + "' 2>/dev/null";
    return std::system(command.c_str()) == 0;
  }

  ScratchDirectory scratch_;
  const fs::path place_ = scratch_ / "place";
  const std::string header_ = (place_ / "a.h").string();
};

TEST_F(HeadersOfImages, AreKnownWhileTheyAreMounted) {
  HeaderFiles files;
  std::optional<FileStamp> first, second;
  for (int tries = 0; !first || first != second; ++tries) {
    ASSERT_LT(tries, 5) << "the images are no pair";
    if (!make_images()) GTEST_SKIP() << "mke2fs makes no image here";
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // Until their times are settled.
    if (!mount_image("1")) GTEST_SKIP() << "no loop device";
    first = stamp_of(header_);
    const auto text = files.read(header_, *first);
    EXPECT_EQ(files.digest(header_, *first), digest_of("#define A 1\n"));
    EXPECT_EQ(files.read(header_, *first), text) << "read once more";
    ::umount2(place_.c_str(), 0);
    ASSERT_TRUE(mount_image("2"));
    second = stamp_of(header_);
    EXPECT_EQ(files.digest(header_, *second), digest_of("#define A 2\n"));
    EXPECT_EQ(files.read(header_, *second)->text, "#define A 2\n");
    ::umount2(place_.c_str(), 0);
  }
}

}  // namespace
}  // namespace kiln::test
