#include "source/program_tellers.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "source/header_search.h"

namespace kiln::test {
namespace {

bool tells(const std::vector<std::string>& texts) {
  ProgramTellers tellers;
  for (const auto& text : texts) tellers.add(text);
  return tellers.any();
}

TEST(ProgramTellers, FindsItsNameAndThePlaceOfItsSource) {
  EXPECT_TRUE(tells({"const char* name = __BASE_FILE__;"}));
  EXPECT_TRUE(tells({"const char* name = __BA\\\nSE_FILE__;"}));
  EXPECT_TRUE(tells({"#include <" + virtual_name("a.cu") + ">"}));
  EXPECT_TRUE(tells({"#define SOURCE " + virtual_name("a.cu")}));
  EXPECT_TRUE(
      tells({"#define FOLDER kiln/a.cu\n#define IN_ROOT(x) </x>\n#include IN_ROOT(FOLDER)"}));
  EXPECT_TRUE(tells({"constexpr int v = __has_include(</kiln/a.cu>);"}));
  EXPECT_TRUE(tells({"constexpr int v = IN(\nkiln\n);"}));
  EXPECT_TRUE(tells({"#define FOLDER Q(R\"(\n)\", kiln)"}));
  EXPECT_TRUE(tells({"const char* name = __BA?\?/\nSE_FILE__;"}));
}

TEST(ProgramTellers, FindsWhatTextsCanPasteTogether) {
  EXPECT_TRUE(tells({"C(__BASE_, FILE__)"}));
  EXPECT_TRUE(tells({"#define A __BASE_", "#define B FILE__"})) << "in two texts";
  EXPECT_TRUE(tells({"C(_, _, BASE_FILE__)"})) << "of letters, too";
  EXPECT_TRUE(tells({"C(__BASE_FILE, _, _)"}));
  EXPECT_TRUE(tells({"C(__, BASE, _, FILE, __)"}));
  EXPECT_FALSE(tells({"// \"AS IS\", __ and FILE"})) << "as in CCCL";
  EXPECT_FALSE(tells({"#define A __BASE_", "#define B __FILE__"}));
}

TEST(ProgramTellers, TakesOptionsAsTheyStand) {
  for (const auto* option : {"-DWHO=__BASE_FILE__", "-DFOLDER=kiln"}) {
    ProgramTellers tellers;
    tellers.add_option(option);
    EXPECT_TRUE(tellers.any()) << option;
  }
  ProgramTellers tellers;
  tellers.add_option("-DN=4");
  EXPECT_FALSE(tellers.any());
}

// Else no two programs that use kiln's own headers would share a prelude.
TEST(ProgramTellers, KnowsHeadersAndNamespacesOfThatName) {
  EXPECT_FALSE(
      tells({"#include <kiln/array.cuh>\n#include \"kiln/convert.cuh\"\n"
             "namespace kiln {}\nint kilns = kiln::count;\n#define KILN kiln_x"}));
  EXPECT_FALSE(tells({"// compiled by kiln\n/* kiln/a.cu */ int kilns;"})) << "comments";
  EXPECT_TRUE(tells({"// ?\?/\n kiln"})) << "that may go on";
  EXPECT_FALSE(tells({"", "const char* file = __FILE__;"}));
}

}  // namespace
}  // namespace kiln::test
