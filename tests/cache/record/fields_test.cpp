#include "record/fields.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

using namespace std::string_literals;

std::string record_of(Tag tag, std::string_view value) {
  FieldWriter out;
  out.bytes(tag, value);
  return out.take();
}

TEST(Fields, AreWrittenAsDocumented) {
  FieldWriter out;
  out.bytes(Tag::program, "a.cu");
  out.number(Tag::source_bytes, 300);
  EXPECT_EQ(out.take(), "\x02\x04"s + "a.cu" + "\x04\x02\xac\x02"s);
  EXPECT_EQ(out.take(), "");
}

TEST(Fields, ReadBackWhatWasWritten) {
  FieldWriter out;
  out.bytes(Tag::program, std::string(1000, 'x'));
  out.bytes(Tag::option, "");
  out.number(Tag::source_bytes, std::numeric_limits<std::uint64_t>::max());
  out.number(Tag::parent, 0);
  out.digest(Tag::source, digest_of("x"));
  const std::string record = out.take();

  FieldReader in(record);
  EXPECT_TRUE(in.at(Tag::program));
  EXPECT_FALSE(in.at(Tag::option));
  EXPECT_EQ(in.bytes(Tag::program), std::string(1000, 'x'));
  EXPECT_EQ(in.text(Tag::option), "");
  EXPECT_EQ(in.number(Tag::source_bytes), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.number32(Tag::parent), 0u);
  EXPECT_FALSE(in.finished());
  EXPECT_EQ(in.digest(Tag::source), digest_of("x"));
  EXPECT_TRUE(in.finished());
}

TEST(Fields, KeepWhereOneEndsAndTheNextBegins) {
  FieldWriter apart;
  apart.bytes(Tag::option, "-I");
  apart.bytes(Tag::option, "-O2");
  EXPECT_NE(apart.take(), record_of(Tag::option, "-I-O2"));
}

TEST(Fields, AnotherTagFailsForGood) {
  const std::string record = record_of(Tag::option, "x");
  FieldReader in(record);
  EXPECT_EQ(in.bytes(Tag::program), "");
  EXPECT_FALSE(in.at(Tag::option));
  EXPECT_EQ(in.bytes(Tag::option), "");
  EXPECT_FALSE(in.finished());
}

TEST(Fields, EveryCutOffRecordFails) {
  FieldWriter out;
  out.bytes(Tag::program, std::string(200, 'x'));
  out.number(Tag::source_bytes, 1 << 20);
  const std::string record = out.take();
  for (std::size_t size = 0; size < record.size(); ++size) {
    FieldReader in(std::string_view(record).substr(0, size));
    static_cast<void>(in.bytes(Tag::program));
    static_cast<void>(in.number(Tag::source_bytes));
    EXPECT_FALSE(in.finished()) << size;
  }
}

TEST(Fields, NumbersHaveOneSpelling) {
  const auto accepted = [](std::string_view digits) {
    const std::string record = record_of(Tag::parent, digits);
    FieldReader in(record);
    static_cast<void>(in.number(Tag::parent));
    return in.finished();
  };
  EXPECT_TRUE(accepted("\x00"s));
  EXPECT_TRUE(accepted("\x7f"s));
  EXPECT_TRUE(accepted("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));
  EXPECT_FALSE(accepted(""));
  EXPECT_FALSE(accepted("\x80\x00"s)) << "longer than it needs to be";
  EXPECT_FALSE(accepted("\x80"s)) << "cut off";
  EXPECT_FALSE(accepted("\x01\x01"s)) << "something behind it";
  EXPECT_FALSE(accepted("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s)) << "over 64 bits";
  EXPECT_FALSE(accepted("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s)) << "over 64 bits";
}

TEST(Fields, LengthsAreBounded) {
  for (const std::string& record : {"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"s, "\x02\x02x"s,
                                    "\x02\x81\x00x"s, "\x02"s}) {
    FieldReader in(record);
    EXPECT_EQ(in.bytes(Tag::program), "");
    EXPECT_FALSE(in.finished());
  }
}

TEST(Fields, NarrowNumbersAndDigestsAreChecked) {
  FieldWriter out;
  out.number(Tag::parent, std::uint64_t{1} << 32);
  const std::string wide = out.take();
  FieldReader number(wide);
  EXPECT_EQ(number.number32(Tag::parent), 0u);
  EXPECT_FALSE(number.finished());

  const std::string short_digest = record_of(Tag::content, std::string(15, 'x'));
  FieldReader digest(short_digest);
  EXPECT_TRUE(digest.digest(Tag::content).empty());
  EXPECT_FALSE(digest.finished());
}

}  // namespace
}  // namespace kiln::storage
