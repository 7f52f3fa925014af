#include "table.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

TEST(Table, AlignsColumnsByCodePoint) {
  Table table({{"NAME"}, {"SIZE", Align::right}, {"NOTE"}});
  table.add({"größer", "1", ""});
  table.add({"b", "1000", "x"});
  EXPECT_EQ(table.text(false),
            "NAME    SIZE  NOTE\n"
            "größer     1\n"
            "b       1000  x\n");
}

// As `ls` has it.
Table entries() {
  Table table({{"KEY"},
               {"PROGRAM"},
               {"SIZE", Align::right},
               {"STORED", Align::right, 2},
               {"AGE", Align::right, 1}});
  table.add(
      {"01234567", "kernels/attention/größer_als_alle_anderen.cu", "26.5 KiB", "9.0 KiB", "5m"});
  table.add({"89abcdef", "a.cu", "1.0 KiB", "512 B", "40d"});
  return table;
}

TEST(Table, FitsATerminal) {
  EXPECT_EQ(entries().text(false, 78), entries().text(false)) << "it takes 78 columns";
  EXPECT_EQ(entries().text(false, 77),
            "KEY       PROGRAM                                          SIZE   STORED  AGE\n"
            "01234567  kernels/attention/größer_als_alle_anderen.…  26.5 KiB  9.0 KiB   5m\n"
            "89abcdef  a.cu                                          1.0 KiB    512 B  40d\n");
  EXPECT_EQ(entries().text(false, 58),
            "KEY       PROGRAM                       SIZE   STORED  AGE\n"
            "01234567  kernels/attention/größe…  26.5 KiB  9.0 KiB   5m\n"
            "89abcdef  a.cu                       1.0 KiB    512 B  40d\n");
  EXPECT_EQ(entries().text(false, 57),
            "KEY       PROGRAM                       SIZE  AGE\n"
            "01234567  kernels/attention/größe…  26.5 KiB   5m\n"
            "89abcdef  a.cu                       1.0 KiB  40d\n");
  EXPECT_EQ(entries().text(false, 40),
            "KEY       PROGRAM                   SIZE\n"
            "01234567  kernels/attention/g…  26.5 KiB\n"
            "89abcdef  a.cu                   1.0 KiB\n");
  EXPECT_EQ(entries().text(false, 5), entries().text(false, 32)) << "what is needed stays";
}

TEST(Table, SpellsControlCharactersOut) {
  Table table({{"A"}, {"B"}});
  table.add({"a\x1b]0;owned\a\nb", "c"});
  EXPECT_EQ(table.text(false), "A                       B\na\\x1b]0;owned\\x07\\x0ab  c\n");
  EXPECT_EQ(field_list({{"key", "1\r2\n3"}}, false), "key  1\\x0d2\n     3\n");
}

TEST(Table, SpellsOutWhatNobodyWouldSee) {
  EXPECT_EQ(printable("größe – 核 🦀"), "größe – 核 🦀");
  EXPECT_EQ(printable("a\u009bb\u202ec\u2028d\u2066"),
            "a\\xc2\\x9bb\\xe2\\x80\\xaec\\xe2\\x80\\xa8d\\xe2\\x81\\xa6");
  EXPECT_EQ(printable("\xff\xc3(\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80"),
            "\\xff\\xc3(\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x80");
}

TEST(Table, ColoursHeadingsOnly) {
  Table table({{"A"}});
  table.add({"b"});
  EXPECT_EQ(table.text(true), "\x1b[1mA\x1b[0m\nb\n");
}

TEST(FieldList, IndentsFurtherLines) {
  EXPECT_EQ(field_list({{"key", "1"}, {"options", "-a\n-b"}}, false),
            "key      1\n"
            "options  -a\n"
            "         -b\n");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(26 * 1024 + 512), "26.5 KiB");
  EXPECT_EQ(format_bytes(5ull << 30), "5.0 GiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 52), "1023.9 KiB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16777216.0 TiB");
}

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(870), "870 us");
  EXPECT_EQ(format_duration(38'120), "38.1 ms");
  EXPECT_EQ(format_duration(1'150'000), "1.1 s");
  EXPECT_EQ(format_duration(999'949), "999.9 ms");
  EXPECT_EQ(format_duration(999'951), "1.0 s");
}

TEST(Format, Ages) {
  EXPECT_EQ(format_age(100, 159), "59s");
  EXPECT_EQ(format_age(1, 61), "1m");
  EXPECT_EQ(format_age(1, 1 + 2 * 60 * 60), "2h");
  EXPECT_EQ(format_age(1, 1 + 40 * 24 * 60 * 60), "40d");
  EXPECT_EQ(format_age(0, 60), "-") << "not known, as of what came from a bundle";
  EXPECT_EQ(format_age(200, 100), "0s") << "a clock that was put back";
}

TEST(Format, Times) { EXPECT_EQ(format_time(0), "1970-01-01 00:00:00 UTC"); }

}  // namespace
}  // namespace kiln::cli
