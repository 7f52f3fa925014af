#include "kiln/error.h"

#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Error, EveryCodeHasAWordOfItsOwn) {
  std::set<std::string> words;
  const int last = static_cast<int>(ErrorCode::io_failed);
  for (int code = 0; code <= last; ++code) words.insert(to_string(static_cast<ErrorCode>(code)));
  EXPECT_EQ(words.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_EQ(words.count("unknown"), 0u);
  EXPECT_STREQ(to_string(ErrorCode::compile_failed), "compile_failed");
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(Error, ATemplateFindsWhatAResultIsOf) {
  EXPECT_EQ(message_of(Result<int>(1)), "");
  EXPECT_EQ(message_of(Result<std::string>(fail(ErrorCode::not_found, "no text"))), "no text");
  EXPECT_EQ(message_of(Outcome(fail(ErrorCode::not_found, "nothing"))), "nothing");
}

TEST(Error, FailMakesAResult) {
  const Result<int> result = fail(ErrorCode::compile_failed, "message", "log", 6);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::compile_failed);
  EXPECT_EQ(result.error().message, "message");
  EXPECT_EQ(result.error().log, "log");
  EXPECT_EQ(result.error().vendor_code, 6);
}

TEST(Error, AnOutcomeEndsAChain) {
  const auto half = [](int number) -> Outcome {
    if (number % 2 != 0) return fail(ErrorCode::invalid_argument, "odd");
    return {};
  };
  EXPECT_TRUE(Result<int>(2).and_then(half));
  const Outcome odd = Result<int>(3).and_then(half);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message, "odd");
}

TEST(Error, IsWrittenWithItsLog) {
  std::ostringstream out;
  out << ErrorCode::compile_failed << ": " << Error{.message = "message"} << "; "
      << Error{.message = "other", .log = "log"};
  EXPECT_EQ(out.str(), "compile_failed: message; other\nlog");
  EXPECT_EQ(format_as(Error{.message = "other", .log = "log"}), "other\nlog");
}

TEST(Error, AnExceptionSaysWhatTheErrorSaid) {
  const Result<int> value = fail(ErrorCode::compile_failed, "message", "log");
  const Outcome nothing = fail(ErrorCode::not_found, "other");
  try {
    (void)value.value();
    FAIL();
  } catch (const std::exception& thrown) {
    EXPECT_STREQ(thrown.what(), "message\nlog");
  }
  try {
    nothing.value();
    FAIL();
  } catch (const tl::bad_expected_access<Error>& thrown) {
    EXPECT_STREQ(thrown.what(), "other");
    EXPECT_EQ(thrown.error().code, ErrorCode::not_found);
  }
  EXPECT_NO_THROW(Outcome().value());
}

}  // namespace
}  // namespace kiln
