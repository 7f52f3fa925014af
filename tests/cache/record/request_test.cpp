#include "kiln/request.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/fields.h"
#include "support.h"
#include "support/request_fields.h"

namespace kiln {
namespace {

Request sample_request() { return test::make_sample(7).request; }
DependencySet sample_set() { return test::make_sample(7).dependencies; }

// With something in each field.
DependencySet full_set() {
  auto set = sample_set();
  set.working_directory = "/somewhere";
  set.directories = 2;
  set.embedded_names = digest_of("names");
  set.lookups[1].path = "/usr/include/detail/lane.cuh";
  set.lookups[1].modified_ns = 1'700'000'000'000'000'000;
  set.lookups[2].tested = true;
  set.lookups.push_back({.spelling = "1/engine/vec.cuh",
                         .parent = Dependency::at_place,
                         .content = set.lookups[0].content,
                         .same_path = 0,
                         .same_file = 0});
  return set;
}

// Golden: a change here makes every cache in the world miss. It wants a new format version.
TEST(Key, IsPinned) {
  EXPECT_EQ(digest_of(Request().material()).hex(), "beb3544205b3b633c0b1a93cb5566441");
  EXPECT_EQ(digest_of(DependencySet().material()).hex(), "4a653ff72561c92b1d32b521b78044a9");
  const Digest request = digest_of(sample_request().material());
  const Digest dependencies = digest_of(sample_set().material());
  EXPECT_EQ(request.hex(), "cf06c96037a29a9b2a9f8e8065e41e4e");
  EXPECT_EQ(dependencies.hex(), "24b0a8f768b049d3e682d87086ea2166");
  EXPECT_EQ(digest_of(full_set().material()).hex(), "4d4f5f78f0715231e25fc8f9f24a2415");
  EXPECT_EQ(key_of(request, dependencies, digest_of("a compiler")).hex(),
            "2250c0d15ca17a54bdf04fd0ef49cde7");
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

// What caches out there hold, and so never changed. Where the version is raised, these bytes are refused from then on
// (EXPECT_FALSE), and the new version's are written beside them. A field that is added without that cannot be read of them.
TEST(Request, OfEachVersionIsReadRightOrRefused) {
  using storage::Tag;
  storage::FieldWriter version_2;
  version_2.number(Tag::request_version, 2);
  version_2.bytes(Tag::program, "scale.cu");
  version_2.digest(Tag::source, digest_of("source"));
  version_2.number(Tag::source_bytes, 6);
  version_2.bytes(Tag::option, "--std=c++20");
  version_2.bytes(Tag::expression, "scale<float>");
  version_2.bytes(Tag::arch, "sm_90a");
  version_2.bytes(Tag::kind, "cubin");
  version_2.number(Tag::standard_headers, 1);
  const Request request{.program = "scale.cu",
                        .source = digest_of("source"),
                        .source_bytes = 6,
                        .options = {"--std=c++20"},
                        .expressions = {"scale<float>"},
                        .arch = "sm_90a",
                        .kind = "cubin",
                        .standard_headers = true};
  EXPECT_EQ(Request::from_material(version_2.take()), request) << "raise request_version";
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
      [](Request& r) { r.standard_headers = true; },
      [](Request& r) { r.engine = "acme 2"; },
  };
  const Request plain = sample_request();
  std::set<std::string> materials = {plain.material()};
  test::ChangedFields<decltype(test::fields_of(plain))> fields;
  for (const auto& change : changes) {
    Request request = plain;
    change(request);
    fields.note(test::fields_of(plain), test::fields_of(request));
    materials.insert(request.material());
    EXPECT_EQ(Request::from_material(request.material()), request);
  }
  EXPECT_EQ(materials.size(), changes.size() + 1);
  EXPECT_TRUE(fields.unchanged().empty()) << "these want a row";
}

TEST(Request, OptionsThatReadAlikeWhenJoinedDiffer) {
  Request apart;
  apart.options = {"-I", "-O2"};
  Request joined;
  joined.options = {"-I-O2"};
  EXPECT_NE(apart.material(), joined.material());
}

TEST(DependencySet, MaterialGoesBothWays) {
  const DependencySet set = full_set();
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
      [](DependencySet& s) { s.lookups[0].parent = Dependency::at_place; },
      [](DependencySet& s) { s.lookups[0].tested = true; },
      [](DependencySet& s) { s.lookups[0].reach = Dependency::Reach::text; },
      [](DependencySet& s) { s.lookups[0].reach = Dependency::Reach::presence; },
      [](DependencySet& s) { s.lookups[0].as_spelled = true; },
      [](DependencySet& s) { s.lookups[1].same_path = 0; },
      [](DependencySet& s) { s.lookups[1].same_file = 0; },
      [](DependencySet& s) { s.lookups[0].modified_ns = 1'700'000'000'000'000'000; },
      [](DependencySet& s) { s.lookups[0].modified_ns = -1; },
      [](DependencySet& s) { s.directories = 2; },
      [](DependencySet& s) { s.embedded_names = digest_of("names"); },
      [](DependencySet& s) { s.lookups.pop_back(); },
      [](DependencySet& s) { std::swap(s.lookups[0].content, s.lookups[1].content); },
  };
  std::set<std::string> materials = {sample_set().material()};
  for (const auto& change : changes) {
    DependencySet set = sample_set();
    change(set);
    materials.insert(set.material());
    EXPECT_EQ(DependencySet::from_material(set.material()), set);
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

TEST(DependencySet, TheSameAreEarlierOnes) {
  const std::vector<std::uint32_t Dependency::*> references = {&Dependency::same_path,
                                                               &Dependency::same_file};
  for (const auto reference : references) {
    for (const std::uint32_t other : {1U, 2U, Dependency::at_place, Dependency::source_parent}) {
      DependencySet set = sample_set();
      set.lookups[1].*reference = other;
      EXPECT_FALSE(DependencySet::from_material(set.material())) << other;
    }
  }
}

// A field that says what its absence says as well would give one record two spellings.
TEST(DependencySet, HasOneSpelling) {
  using storage::FieldWriter;
  using storage::Tag;
  const auto none = [](FieldWriter&) {};
  using Write = std::function<void(FieldWriter&)>;
  const auto record = [](const Write& before, const Write& after_parent, const Write& at_end) {
    FieldWriter out;
    out.number(Tag::dependencies_version, 2);
    out.bytes(Tag::working_directory, "");
    before(out);
    for (int number = 0; number < 2; ++number) {
      out.bytes(Tag::spelling, "a.h");
      if (number == 1) after_parent(out);
      out.digest(Tag::content, {});
      out.bytes(Tag::path, "");
      if (number == 1) at_end(out);
    }
    return DependencySet::from_material(out.take()).has_value();
  };
  const auto number = [](Tag tag, std::uint64_t value) {
    return [=](FieldWriter& out) { out.number(tag, value); };
  };
  EXPECT_TRUE(record(none, none, none));
  EXPECT_TRUE(
      record(number(Tag::directories, 1), number(Tag::tested, 1), number(Tag::same_path, 0)));
  EXPECT_FALSE(record(number(Tag::directories, 0), none, none));
  EXPECT_FALSE(record([](FieldWriter& out) { out.digest(Tag::embedded_names, {}); }, none, none));
  EXPECT_FALSE(record(none, number(Tag::tested, 0), none));
  EXPECT_FALSE(record(none, number(Tag::tested, 2), none));
  EXPECT_TRUE(record(none, number(Tag::reach, 2), none));
  EXPECT_FALSE(record(none, number(Tag::reach, 0), none));
  EXPECT_FALSE(record(none, number(Tag::reach, 3), none));
  EXPECT_FALSE(record(none, number(Tag::as_spelled, 0), none));
  EXPECT_FALSE(record(none, number(Tag::parent, Dependency::no_parent), none));
  EXPECT_FALSE(record(none, none, number(Tag::same_path, Dependency::no_other)));
  EXPECT_FALSE(record(none, none, number(Tag::same_file, Dependency::no_other)));
  EXPECT_FALSE(record(none, none, number(Tag::modified_ns, 0)));
}

TEST(Request, AFlagIsOneOfTwo) {
  const auto material = Request().material();
  ASSERT_EQ(material.back(), '\0');
  auto two = material;
  two.back() = '\2';
  EXPECT_FALSE(Request::from_material(two));
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

TEST(DependencySet, DecodingIsTotal) { expect_total<DependencySet>(full_set().material()); }

TEST(Material, OfOneKindIsNoneOfTheOther) {
  EXPECT_FALSE(Request::from_material(DependencySet().material()));
  EXPECT_FALSE(DependencySet::from_material(Request().material()));
}

}  // namespace
}  // namespace kiln
