#include "source/places.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/scratch.h"

namespace kiln::test {
namespace {

TEST(Places, AreReadAsTheyAreSpelled) {
  const auto expect = [](std::string_view spelling, std::string_view directory,
                         std::string_view rest) {
    const auto place = read_place(spelling);
    EXPECT_EQ(place.directory, directory) << spelling;
    EXPECT_EQ(place.rest, rest) << spelling;
  };
  expect("/usr/include/a.h", "", "/usr/include/a.h");
  expect("2/lib/a.h", "2", "lib/a.h");
  expect("12/a.h", "12", "a.h");
  expect("-/lib/a.h", Place::elsewhere, "lib/a.h");
  expect("0//a.h", "0", "/a.h");
  expect("nonsense", Place::elsewhere, "nonsense");
  expect("", Place::elsewhere, "");
}

TEST(Places, LieBelowADirectory) {
  EXPECT_EQ(below("/inc", "/inc/lib/a.h"), "lib/a.h");
  EXPECT_EQ(below("/inc", "/inc/../a.h"), "../a.h");
  EXPECT_EQ(below("/inc", "/include/a.h"), std::nullopt);
  EXPECT_EQ(below("/inc", "/inc"), std::nullopt);
  EXPECT_EQ(below("/inc", "/inc/"), std::nullopt);
  EXPECT_EQ(below("/inc", "inc/a.h"), std::nullopt);
}

TEST(Places, GoByTheDirectoriesThatHoldAny) {
  const ScratchDirectory scratch;
  write_file(scratch / "one/a.h", "");
  write_file(scratch / "three/lib/b.h", "");
  std::filesystem::create_directories(scratch / "two/a.h");
  const std::vector<std::string> all{scratch / "absent", scratch / "three", scratch / "two",
                                     scratch / "one"};
  EXPECT_EQ(directories_with({"a.h", "lib/b.h"}, all), (std::vector<std::string>{all[1], all[3]}));
  EXPECT_EQ(directories_with({"a.h"}, all), std::vector<std::string>{all[3]})
      << "a folder is no header";
  EXPECT_TRUE(directories_with({"c.h"}, all).empty());
  EXPECT_TRUE(directories_with({}, all).empty());
}

}  // namespace
}  // namespace kiln::test
