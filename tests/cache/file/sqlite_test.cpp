#include "file/sqlite.h"

#include <string>

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

// Of some seconds, and one instruction of SQLite's, which looks at no clock meanwhile.
constexpr const char* long_instruction =
    "SELECT instr(hex(zeroblob(400000)), hex(zeroblob(200000)) || '1')";

Connection in_memory() {
  return Connection::open(":memory:", Connection::Mode::read_write).value();
}

TEST(Sqlite, AStrangersFileIsGivenUpAfterALongInstruction) {
  auto connection = in_memory();
  connection.distrust_schema();
  connection.trust_schema();
  EXPECT_EQ(connection.integer("SELECT 1"), 1);
  EXPECT_FALSE(connection.integer(long_instruction));
  EXPECT_EQ(connection.last_code(), SQLITE_INTERRUPT);
  EXPECT_NE(connection.failure("reading").value().message.find("takes more time"),
            std::string::npos);
  connection.restart_clock();
  EXPECT_FALSE(connection.integer("SELECT 1")) << "it is not asked again";
}

TEST(Sqlite, NoOtherFileIs) {
  auto connection = in_memory();
  EXPECT_EQ(connection.integer(long_instruction), 0);
}

TEST(Sqlite, ALongerValueIsTakenForAsLongAsItMayBe) {
  auto connection = in_memory();
  connection.distrust_schema();
  connection.trust_schema();
  EXPECT_FALSE(connection.integer("SELECT length(hex(zeroblob(4500000)))"));
  EXPECT_EQ(connection.last_code(), SQLITE_TOOBIG);
  {
    const LongestValue longest(connection, 1 << 20);
    EXPECT_EQ(connection.integer("SELECT length(hex(zeroblob(4500000)))"), 9'000'000);
  }
  EXPECT_FALSE(connection.integer("SELECT length(hex(zeroblob(4500000)))"));
}

}  // namespace
}  // namespace kiln::storage
