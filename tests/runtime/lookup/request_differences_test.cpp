// Whatever field of its request differs: a program misses, and explain has words for it.

#include "lookup/request_differences.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"
#include "support/request_fields.h"

namespace kiln::test {
namespace {

struct Asked {
  ProgramSpec spec;
  std::string arch = "sm_80";
  ImageKind kind = ImageKind::cubin;
  std::string engine = {};
};

Asked plain() {
  return {{.name = "plain.cu",
           .source = "template <class T> __global__ void scale(T* x) { *x *= 2; }",
           .kernels = {"scale<float>"},
           .options = {"--std=c++17"}}};
}

// Each differs from the plain one, and all of them together in every field of a request.
std::vector<Asked> rows() {
  std::vector<Asked> rows(8, plain());
  rows[0].spec.name = "another.cu";
  rows[1].spec.source += "// and more";
  rows[2].spec.options = {"--std=c++20"};
  rows[3].spec.kernels = {"scale<double>"};
  rows[4].arch = "sm_90";
  rows[5].kind = ImageKind::ptx;
  rows[6].spec.headers = {standard_headers()};
  rows[7].engine = "acme 2";
  return rows;
}

class RequestDifferences : public CompileFixture {
 protected:
  Runtime runtime_of(const Asked& asked) {
    auto with = options();
    with.engine = asked.engine;
    return Runtime::open(with).value();
  }

  Explanation explain(const Asked& asked) {
    auto runtime = runtime_of(asked);
    return runtime
        .explain(Program::make(asked.spec).value(), Target::parse(asked.arch, asked.kind).value())
        .value();
  }

  std::optional<Artifact> compile(const Asked& asked) {
    auto made = runtime_of(asked).compile(Program::make(asked.spec).value(),
                                          Target::parse(asked.arch, asked.kind).value());
    EXPECT_TRUE(made) << made.error();
    if (!made) return std::nullopt;
    EXPECT_EQ(made->origin, Origin::compiled);
    return *made;
  }

  Request stored_request(const Artifact& artifact) {
    return Cache::open(cache_directory(), {.access = Cache::Access::read_only})
        ->entry(artifact.key)
        ->request;
  }
};

TEST_F(RequestDifferences, EachFieldMissesAndIsExplained) {
  const auto made = compile(plain());
  ASSERT_TRUE(made);
  const auto request = stored_request(*made);
  for (const auto& row : rows()) {
    const auto explanation = explain(row);
    EXPECT_FALSE(explanation.hit);
    ASSERT_TRUE(explanation.nearest) << explanation.summary();
    EXPECT_FALSE(explanation.nearest->differences.empty()) << explanation.summary();
  }
  ChangedFields<decltype(fields_of(request))> fields;
  for (const auto& row : rows()) {
    const auto other = compile(row);
    ASSERT_TRUE(other);
    const auto other_request = stored_request(*other);
    fields.note(fields_of(request), fields_of(other_request));
  }
  EXPECT_TRUE(fields.unchanged().empty()) << "these want a row";
}

}  // namespace
}  // namespace kiln::test
