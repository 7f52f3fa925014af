#include "verbs/trace_summary.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json event(const std::string& name, int begin, int length, const std::string& detail = {}) {
  json event{{"ph", "X"}, {"pid", 0}, {"tid", 0}, {"name", name}, {"ts", begin}, {"dur", length}};
  if (!detail.empty()) event["args"] = {{"detail", detail}};
  return event;
}

json header(const std::string& name, int begin, int length) {
  return event("Processing Header File", begin, length, name);
}

std::string trace(const std::vector<json>& events) {
  return json{{"otherData", json::object()}, {"traceEvents", events}}.dump();
}

std::vector<std::string> lines(const std::vector<TraceTime>& times) {
  std::vector<std::string> all;
  for (const auto& time : times) {
    all.push_back(time.name + " " + std::to_string(time.own_us) + " " +
                  std::to_string(time.all_us) + " " + std::to_string(time.programs));
  }
  return all;
}

TEST(TraceSummary, ATimeIsItsOwnWithoutWhatIsInIt) {
  TraceSummary summary;
  // Inner events end before the outer ones, and so stand before them.
  EXPECT_TRUE(summary.add(trace({header("inner.h", 20, 30), event("Scanning Function Body", 55, 5),
                                 header("outer.h", 10, 60), header("other.h", 70, 5),
                                 event("CUDA C++ Front-End", 0, 100), event("LibNVVM", 100, 40)})));
  EXPECT_THAT(lines(summary.headers()),
              ElementsAre("outer.h 25 60 1", "inner.h 30 0 1", "other.h 5 5 1"));
  EXPECT_THAT(lines(summary.phases()),
              ElementsAre("Processing Header File 60 65 1", "LibNVVM 40 40 1",
                          "CUDA C++ Front-End 35 100 1", "Scanning Function Body 5 5 1"));
}

TEST(TraceSummary, WhatGoesOnInItselfCountsOnce) {
  TraceSummary summary;
  EXPECT_TRUE(summary.add(trace({header("again.h", 10, 10), header("between.h", 5, 20),
                                 header("again.h", 0, 40), header("again.h", 50, 7)})));
  EXPECT_THAT(lines(summary.headers()), ElementsAre("again.h 37 47 1", "between.h 10 0 1"));
}

TEST(TraceSummary, ProgramsAreAddedUp) {
  TraceSummary summary;
  EXPECT_TRUE(summary.add(trace({header("a.h", 0, 10), header("a.h", 20, 1)})));
  EXPECT_TRUE(summary.add(trace({header("a.h", 0, 5), header("b.h", 5, 2)})));
  EXPECT_THAT(lines(summary.headers()), ElementsAre("a.h 16 16 2", "b.h 2 2 1"));
}

TEST(TraceSummary, EachProcessOfATraceIsAProgram) {
  auto other = header("a.h", 0, 5);
  other["pid"] = 2;
  auto own = header("b.h", 5, 2);
  own["pid"] = 2;
  TraceSummary summary;
  EXPECT_TRUE(summary.add(trace({header("a.h", 0, 10), other, own})));
  EXPECT_THAT(lines(summary.headers()), ElementsAre("a.h 15 15 2", "b.h 2 2 1"));
  EXPECT_EQ(summary.programs(), 2U);
  EXPECT_TRUE(summary.add(trace({})));
  EXPECT_EQ(summary.programs(), 2U);
}

TEST(TraceSummary, ThreadsAreApart) {
  TraceSummary summary;
  auto elsewhere = event("one", 5, 10);
  elsewhere["tid"] = 7;
  EXPECT_TRUE(summary.add(trace({event("other", 0, 20), elsewhere})));
  EXPECT_THAT(lines(summary.phases()), ElementsAre("other 20 20 1", "one 10 10 1"));
}

TEST(TraceSummary, HandsOnEachEventAndSkipsWhatIsNone) {
  TraceSummary summary;
  std::vector<std::string> seen;
  EXPECT_TRUE(summary.add(
      trace({json::object(),
             event("a", 0, 0),
             {{"ph", "M"}, {"name", "process_name"}},
             {{"ph", 3}, {"ts", "soon"}, {"dur", -5}, {"name", {}}},
             event("b", 1, 2)}),
      [&](json& event) { seen.push_back(event["name"].is_string() ? event["name"] : "?"); }));
  EXPECT_THAT(seen, ElementsAre("a", "process_name", "?", "b"));
  EXPECT_THAT(lines(summary.phases()), ElementsAre("b 2 2 1"));
}

TEST(TraceSummary, NumbersThatNoCompileComesToCountForNothing) {
  TraceSummary summary;
  EXPECT_TRUE(summary.add(
      R"({"traceEvents":[{"ph":"X","name":"a","ts":9000000000000000000,"dur":9000000000000000000},
                                 {"ph":"X","name":"b","ts":-1e300,"dur":1e300,"pid":18446744073709551615},
                                 {"ph":"X","name":"c","ts":1e18,"dur":5,"args":3}]})"));
  EXPECT_THAT(lines(summary.phases()), ElementsAre("c 5 5 1"));
}

TEST(TraceSummary, WhatIsNoTraceAddsNothing) {
  TraceSummary summary;
  for (const std::string text :
       {"", "[", "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"dur\":3}"})
    EXPECT_FALSE(summary.add(text)) << text;
  for (const std::string text : {"3", "[]", "{}", "{\"traceEvents\":3}"})
    EXPECT_TRUE(summary.add(text)) << text;
  EXPECT_THAT(summary.phases(), IsEmpty());
  EXPECT_THAT(summary.headers(), IsEmpty());
}

}  // namespace
}  // namespace kiln::cli
