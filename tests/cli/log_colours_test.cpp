#include "log_colours.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

TEST(LogColours, PlacesSeveritiesAndCaretsStandOut) {
  EXPECT_EQ(with_colours("src/k.cu(2): error: expected a \";\"\n"
                         "  int x = 1 }\n"
                         "            ^\n"
                         "\n"
                         "/kiln/k.cu(2): warning #177-D: variable \"x\": never referenced\n"
                         "1 error detected in the compilation of \"src/k.cu\".\n"),
            "\x1b[1msrc/k.cu(2):\x1b[0m \x1b[1;31merror:\x1b[0m expected a \";\"\n"
            "  int x = 1 }\n"
            "\x1b[1;32m            ^\x1b[0m\n"
            "\n"
            "\x1b[1m/kiln/k.cu(2):\x1b[0m \x1b[1;35mwarning #177-D:\x1b[0m variable \"x\": never "
            "referenced\n"
            "1 error detected in the compilation of \"src/k.cu\".\n");
  EXPECT_EQ(with_colours("k.cu(1): catastrophic error: cannot open source file \"x.h\""),
            "\x1b[1mk.cu(1):\x1b[0m \x1b[1;31mcatastrophic error:\x1b[0m cannot open source file "
            "\"x.h\"");
}

TEST(LogColours, WhatIsNoDiagnosticStaysAsItIs) {
  for (const char* text : {"", "\n", "\n\n", "a: error: b", "f(x): error", "error: x", "  a ^ b ^",
                           "x ^\n", "): error", "ptxas info    : Used 8 registers"}) {
    EXPECT_EQ(with_colours(text), text);
  }
}

}  // namespace
}  // namespace kiln::cli
