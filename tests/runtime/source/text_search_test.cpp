// What is looked for in large texts, against the plain way to look for it.

#include "source/text_search.h"

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "source/joined_text.h"
#include "source/scanner.h"
#include "source/text_index.h"

namespace kiln::test {
namespace {

std::string random_text(std::mt19937& random, std::string_view letters, std::size_t size) {
  std::string text;
  while (text.size() < size) text += letters[random() % letters.size()];
  return text;
}

TEST(TextSearch, PlacesAreThoseOfTheFirst) {
  EXPECT_EQ(place_of("abcabc", "ca"), 2U);
  EXPECT_EQ(place_of("abcabc", "bc"), 1U);
  EXPECT_EQ(place_of("abc", "abcd"), std::string_view::npos);
  EXPECT_EQ(place_of("", "a"), std::string_view::npos);
  EXPECT_EQ(place_of("", ""), 0U);
}

TEST(TextSearch, AnIndexRulesOutMostOfWhatDoesNot) {
  std::mt19937 random(3);
  const auto letters = "abcdefghijklmnopqrstuvwxyz_/.0123456789";
  const TextIndex index(random_text(random, letters, 300'000));
  int ruled_out = 0;
  for (int each = 0; each < 1'000; ++each)
    ruled_out += index.may_hold(random_text(random, letters, 12)) ? 0 : 1;
  EXPECT_GT(ruled_out, 950);
}

TEST(TextSearch, AnIndexTellsWhatStandsInItsText) {
  std::mt19937 random(7);
  int held = 0;
  for (int round = 0; round < 2'000; ++round) {
    const auto text = random_text(random, "ab.", random() % 300);
    const TextIndex index(text);
    for (int each = 0; each < 10; ++each) {
      const auto part = random_text(random, "ab.", random() % 12);
      ASSERT_EQ(index.holds(part), text.find(part) != std::string::npos) << text << "|" << part;
      held += index.holds(part) ? 1 : 0;
    }
    if (text.empty()) continue;
    const auto begin = random() % text.size();
    EXPECT_TRUE(index.holds(std::string_view(text).substr(begin, random() % 40)));
  }
  EXPECT_GT(held, 1'000);
  EXPECT_FALSE(TextIndex("short").holds("shorter"));
  EXPECT_TRUE(TextIndex(std::string(4 << 20, 'x') + "/kernels/one.cuh").holds("kernels/one.cuh"));
}

/// The code of a joined text, each word and sign of which is walked over.
std::string walked(std::string_view joined) {
  std::string code;
  for (Scanner scanner(joined); !scanner.done();) {
    const auto begin = scanner.position();
    if (scanner.skip_comment()) {
      code += ' ';
    } else {
      scanner.skip_word_or_token();
      code += scanner.since(begin);
    }
  }
  return code;
}

TEST(TextSearch, CommentsAreFoundWithoutAWalkThroughAllCode) {
  std::mt19937 random(11);
  int with_comments = 0;
  const std::vector<std::string> tokens = {"R",     "u8R\"x(", ")x\"", "R\"(", ")\"", "1",  "1.'1",
                                           "1e+'1", "0x1p-'a", "1'0",  "name", "'",   "\"", "/",
                                           "//",    "/*",      "*/",   "\\",   "+",   "(",  ".",
                                           " ",     "\t",      "\n",   "\r",   "\xc3"};
  for (int round = 0; round < 50'000; ++round) {
    std::string text;
    for (auto count = 1 + random() % 25; count > 0; --count)
      text += tokens[random() % tokens.size()];
    ASSERT_EQ(without_comments(text), walked(text)) << text;
    with_comments += walked(text) != text ? 1 : 0;
  }
  EXPECT_GT(with_comments, 1'000);
  EXPECT_EQ(without_comments("1.'1/**/ 1e+'1/**/"), "1.'1  1e+'1 ");
  EXPECT_EQ(without_comments("a = 1'000; /* ' */ f(u8R\"x(/* \")x\" // c\n);"),
            "a = 1'000;   f(u8R\"x(/* \")x\"  \n);");
}

}  // namespace
}  // namespace kiln::test
