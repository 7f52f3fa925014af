// Names that stand for include directories.

#include "source/named_roots.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

const std::string engine = "/opt/an engine with a long name/include";

Reading at(std::uint32_t root, const std::string& path) {
  Reading reading;
  reading.path = path;
  reading.root = root;
  return reading;
}

TEST(NamedRoots, ANameIsTakenForItsDirectory) {
  const NamedRoots roots({"/a", engine});
  ASSERT_EQ(roots.names().size(), 2U);
  for (std::uint32_t root = 0; root < 2; ++root) {
    const auto resolved = roots.resolve(roots.names()[root] + "/lib/x.h");
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->root, root);
    EXPECT_EQ(resolved->path, (root == 0 ? "/a" : engine) + "/lib/x.h");
    EXPECT_EQ(roots.asked(at(root, resolved->path)), roots.names()[root] + "/lib/x.h");
  }
  EXPECT_EQ(roots.resolve(roots.names()[0])->path, "/a");
  EXPECT_EQ(roots.asked(at(Reading::no_root, "/a/x.h")), "/a/x.h");
}

TEST(NamedRoots, WhatOnlyLooksLikeOneIsNone) {
  const NamedRoots roots({"/a"});
  const auto& name = roots.names()[0];
  const auto& beginning = NamedRoots::beginning();
  for (const auto& asked : std::vector<std::string>{
           name + "x/y.h", beginning, beginning + "1/-/x.h", beginning + "0/x.h", "/kiln-0/-/x.h",
           "/a/x.h", "x.h", beginning + "99999999999999999999/-"}) {
    EXPECT_FALSE(roots.resolve(asked)) << asked;
  }
}

TEST(NamedRoots, ManyAreToldApart) {
  const NamedRoots roots(std::vector<std::string>(120, "/a"));
  for (std::uint32_t root = 0; root < 120; ++root)
    EXPECT_EQ(roots.resolve(roots.names()[root] + "/x.h")->root, root);
}

TEST(NamedRoots, ALineBreakCannotBeTold) {
  EXPECT_TRUE(NamedRoots::can_name({"/a", "/a \"b\"\\c"}));
  EXPECT_FALSE(NamedRoots::can_name({"/a", "/b\n/c"}));
}

}  // namespace
}  // namespace kiln::test
