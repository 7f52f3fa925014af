#include "kiln/request.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln {
namespace {

Request sample_request() { return test::make_sample(7).request; }
DependencySet sample_set() { return test::make_sample(7).dependencies; }

// Golden: a change here makes every cache in the world miss. It wants a new format version.
TEST(Key, IsPinned) {
  EXPECT_EQ(digest_of(Request().material()).hex(), "8dfe85b0b11d4139b2030c412d020a9a");
  EXPECT_EQ(digest_of(DependencySet().material()).hex(), "10b62cf572ae44e738e0d51c0fcedba8");
  const Digest request = digest_of(sample_request().material());
  const Digest dependencies = digest_of(sample_set().material());
  EXPECT_EQ(request.hex(), "4906dc1e22948027ad3d6df88aae2393");
  EXPECT_EQ(dependencies.hex(), "b8c72bb3a5129324c750c628e42f2b80");
  EXPECT_EQ(key_of(request, dependencies, digest_of("a compiler")).hex(),
            "a14d2de72afe202ed98c0f948370ecc3");
}

TEST(Key, DependsOnEachPartAndItsPlace) {
  const Digest a = digest_of("a");
  const Digest b = digest_of("b");
  const std::set<Digest> keys = {key_of(a, a, a), key_of(b, a, a), key_of(a, b, a),
                                 key_of(a, a, b), key_of(b, b, a), key_of(a, b, b)};
  EXPECT_EQ(keys.size(), 6u);
}

TEST(Request, MaterialGoesBothWays) {
  const Request request = sample_request();
  EXPECT_EQ(Request::from_material(request.material()), request);
  EXPECT_EQ(Request::from_material(Request().material()), Request());
}

TEST(Request, EveryFieldIsInItsMaterial) {
  const std::vector<std::function<void(Request&)>> changes = {
      [](Request& r) { r.program = "other.cu"; },
      [](Request& r) { r.source = digest_of("another source"); },
      [](Request& r) { r.source_bytes += 1; },
      [](Request& r) { r.options[0] = "--std=c++17"; },
      [](Request& r) { r.options.pop_back(); },
      [](Request& r) { std::swap(r.options[0], r.options[1]); },
      [](Request& r) { r.options.push_back(""); },
      [](Request& r) { r.options = {r.options[0] + r.options[1]}; },
      [](Request& r) { r.expressions.pop_back(); },
      [](Request& r) { r.expressions.push_back("scale<double>"); },
      [](Request& r) { r.options.push_back(r.expressions[0]), r.expressions.clear(); },
      [](Request& r) { r.arch = "sm_90"; },
      [](Request& r) { r.kind = "ptx"; },
  };
  std::set<std::string> materials = {sample_request().material()};
  for (const auto& change : changes) {
    Request request = sample_request();
    change(request);
    materials.insert(request.material());
    EXPECT_EQ(Request::from_material(request.material()), request);
  }
  EXPECT_EQ(materials.size(), changes.size() + 1);
}

TEST(Request, OptionsThatReadAlikeWhenJoinedDiffer) {
  Request apart;
  apart.options = {"-I", "-O2"};
  Request joined;
  joined.options = {"-I-O2"};
  EXPECT_NE(apart.material(), joined.material());
}

TEST(DependencySet, MaterialGoesBothWays) {
  DependencySet set = sample_set();
  set.working_directory = "/somewhere";
  set.lookups[1].path = "/usr/include/detail/lane.cuh";
  EXPECT_EQ(DependencySet::from_material(set.material()), set);
  EXPECT_EQ(DependencySet::from_material(DependencySet().material()), DependencySet());
}

TEST(DependencySet, EveryFieldIsInItsMaterial) {
  const std::vector<std::function<void(DependencySet&)>> changes = {
      [](DependencySet& s) { s.working_directory = "/somewhere"; },
      [](DependencySet& s) { s.lookups[0].spelling = "engine/vec2.cuh"; },
      [](DependencySet& s) { s.lookups[1].parent = Dependency::no_parent; },
      [](DependencySet& s) { s.lookups[1].parent = Dependency::source_parent; },
      [](DependencySet& s) { s.lookups[0].content = digest_of("other"); },
      [](DependencySet& s) { s.lookups[0].content = {}; },
      [](DependencySet& s) { s.lookups[0].path = "/usr/include/engine/vec.cuh"; },
      [](DependencySet& s) { s.lookups.pop_back(); },
      [](DependencySet& s) { std::swap(s.lookups[0].content, s.lookups[1].content); },
  };
  std::set<std::string> materials = {sample_set().material()};
  for (const auto& change : changes) {
    DependencySet set = sample_set();
    change(set);
    materials.insert(set.material());
  }
  EXPECT_EQ(materials.size(), changes.size() + 1);
}

TEST(DependencySet, TheSourceMayBeAParent) {
  DependencySet set = sample_set();
  set.lookups[0].parent = Dependency::source_parent;
  EXPECT_EQ(DependencySet::from_material(set.material()), set);
}

TEST(DependencySet, AParentStandsBeforeItsChildren) {
  DependencySet set = sample_set();
  set.lookups[1].parent = 1;
  EXPECT_FALSE(DependencySet::from_material(set.material()));
  set.lookups[1].parent = 2;
  EXPECT_FALSE(DependencySet::from_material(set.material()));
}

// Whatever is damaged, what decodes has exactly the bytes that it would be written as.
template <class Record>
void expect_total(const std::string& material) {
  for (std::size_t size = 0; size < material.size(); ++size) {
    EXPECT_FALSE(Record::from_material(material.substr(0, size)) ==
                 Record::from_material(material));
  }
  for (std::size_t bit = 0; bit < 8 * material.size(); ++bit) {
    std::string flipped = material;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto record = Record::from_material(flipped);
    if (record) {
      EXPECT_EQ(record->material(), flipped) << "bit " << bit;
    }
  }
  EXPECT_FALSE(Record::from_material(""));
  EXPECT_FALSE(Record::from_material(material + '\0'));
}

TEST(Request, DecodingIsTotal) { expect_total<Request>(sample_request().material()); }

TEST(DependencySet, DecodingIsTotal) { expect_total<DependencySet>(sample_set().material()); }

TEST(Material, OfOneKindIsNoneOfTheOther) {
  EXPECT_FALSE(Request::from_material(DependencySet().material()));
  EXPECT_FALSE(DependencySet::from_material(Request().material()));
}

}  // namespace
}  // namespace kiln
