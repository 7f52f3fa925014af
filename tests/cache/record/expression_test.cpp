#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/artifact.h"

namespace kiln {
namespace {

TEST(CanonicalExpression, SpellsTheSameInOneWay) {
  for (const char* spelling : {"scale<float, 4>", "scale<float,4>", "scale< float , 4 >",
                               " scale <float,   4> ", "scale<float,4 >"}) {
    EXPECT_EQ(canonical_expression(spelling), "scale<float, 4>") << spelling;
  }
  EXPECT_EQ(canonical_expression("f< -1>"), "f<-1>");
  EXPECT_EQ(canonical_expression("f< &x , !y , int * >"), "f<&x, !y, int*>");
  EXPECT_EQ(canonical_expression("& ns :: value"), "&ns::value");
  EXPECT_EQ(canonical_expression("f<unsigned   long  long>"), "f<unsigned long long>");
  EXPECT_EQ(canonical_expression("f<const  char *, - 1>"), "f<const char*, -1>");
  EXPECT_EQ(canonical_expression("f<(n + m) * 3>"), "f<(n+m)*3>");
  EXPECT_EQ(canonical_expression(""), "");
  EXPECT_EQ(canonical_expression("   "), "");
}

TEST(CanonicalExpression, KeepsApartWhatDiffers) {
  EXPECT_EQ(canonical_expression("f<1 - -1>"), "f<1 - -1>");
  EXPECT_EQ(canonical_expression("f<1 & &x>"), "f<1& &x>");
  EXPECT_EQ(canonical_expression("f< ::g>"), "f< ::g>") << "<: is a bracket";
  EXPECT_EQ(canonical_expression("f<0xe + 5>"), "f<0xe +5>") << "0xe+5 is one number";
  EXPECT_EQ(canonical_expression("f<4_page - 1, 2 . x>"), "f<4_page -1, 2 . x>");
  EXPECT_EQ(canonical_expression("f<n ? 1 : 2 ...>"), "f<n?1:2 ...>");
  EXPECT_EQ(canonical_expression("f<(v<int> >= 3)>"), "f<(v<int> >=3)>");
  EXPECT_EQ(canonical_expression("f<(v<int> >> 1)>"), "f<(v<int> >>1)>");
  EXPECT_EQ(canonical_expression("f<&S::operator> >"), "f<&S::operator> >");
  EXPECT_EQ(canonical_expression("f<&S::operator-> , x>"), "f<&S::operator->, x>");
  EXPECT_EQ(canonical_expression("f<a[ [] { return 1; }() ]>"), "f<a[ []{return 1;}()]>");
  EXPECT_EQ(canonical_expression("f<' '>"), "f<' '>");
  EXPECT_EQ(canonical_expression("f<'  ',','>"), "f<'  ', ','>");
  EXPECT_EQ(canonical_expression("f<'\\'', ' '>"), "f<'\\'', ' '>");
  EXPECT_EQ(canonical_expression("f<u8 'a'>"), "f<u8 'a'>") << "a macro and a literal";
  EXPECT_EQ(canonical_expression("f<u8'a'>"), "f<u8'a'>");
  EXPECT_EQ(canonical_expression("f<1'000 , 0xff'ff>"), "f<1'000, 0xff'ff>");
}

TEST(CanonicalExpression, LeavesWhatItCannotReadAsItIs) {
  for (const char* spelling : {"f< 'x >", "f< \"x >", "f< R\"( \" )\" >", "f< /* ' */ 1 >",
                               "f< 1 // x", "f< LR\"x( \" )x\" >", "f<'\\"}) {
    EXPECT_EQ(canonical_expression(spelling), spelling);
  }
}

// Spaces between tokens that need none change nothing, and what is canonical stays.
TEST(CanonicalExpression, IsTheSameForAnySpaces) {
  const std::vector<std::string> tokens{"ns", "::", "f",   "<",    "int", ",", "4", ",",
                                        "g",  "<",  "'x'", ">",    ",",   "(", "a", "+",
                                        "b",  ")",  ",",   "char", "*",   ">"};
  std::mt19937 random(7);
  for (int round = 0; round < 1'000; ++round) {
    std::string spelling;
    for (const auto& token : tokens) spelling += token + std::string(random() % 3, ' ');
    const auto canonical = canonical_expression(spelling);
    EXPECT_EQ(canonical, "ns::f<int, 4, g<'x'>, (a+b), char*>") << spelling;
    EXPECT_EQ(canonical_expression(canonical), canonical);
  }
}

TEST(CanonicalExpression, AnArtifactFindsEachSpelling) {
  Artifact artifact;
  artifact.kernels = {{.expression = "scale<float, 4>", .symbol = "s"}};
  EXPECT_EQ(artifact.find("scale<float, 4>"), &artifact.kernels[0]);
  EXPECT_EQ(artifact.find("scale<float,4>"), &artifact.kernels[0]);
  EXPECT_EQ(artifact.find("scale<float, 5>"), nullptr);
  EXPECT_EQ(artifact.find("scale<float,5>"), nullptr);
}

}  // namespace
}  // namespace kiln
