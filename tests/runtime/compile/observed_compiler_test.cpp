// The names that include directories have in a compile show in nothing that comes of it, whatever a header does with its path.

#include "compile/observed_compiler.h"

#include <filesystem>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "support/nvrtc.h"
#include "support/scratch.h"
#include "vendor/nvrtc.h"

namespace kiln::test {
namespace {

struct Teller {
  const char* name;
  const char* header;
  const char* source;  ///< Behind its include.
};

std::ostream& operator<<(std::ostream& out, const Teller& teller) { return out << teller.name; }

class Named : public ::testing::TestWithParam<Teller> {
 protected:
  CompileJob job(ImageKind kind, bool named) const {
    CompileJob job;
    job.program = "teller.cu";
    job.source = std::string("#include <lib/teller.h>\n") + GetParam().source;
    job.include_dirs = {(scratch_ / "none").string(), (scratch_ / "an engine/include").string()};
    job.options = {"--std=c++20"};
    job.arch = kind == ImageKind::ptx ? "compute_80" : "sm_80";
    job.kind = kind;
    job.seed = digest_of("teller");
    job.names_roots = named;
    return job;
  }

  ScratchDirectory scratch_;
  vendor::Nvrtc nvrtc_ = vendor::Nvrtc::open(vendor::find_nvrtc(wanted_nvrtc())).value();
};

/// All that anybody learns of a compile.
std::string told_by(const Result<CompileOutcome>& outcome) {
  if (!outcome) return outcome.error().message + outcome.error().log;
  return outcome->artifact.image.string() + outcome->artifact.log;
}

TEST_P(Named, ShowsNowhere) {
  write_file(scratch_ / "an engine/include/lib/teller.h", GetParam().header);
  write_file(scratch_ / "an engine/include/lib/beside.h", "#define BESIDE __FILE__\n");
  for (const auto kind : {ImageKind::ptx, ImageKind::cubin}) {
    ObservedCompiler compiler(0);
    const auto named = compiler.run(nvrtc_, job(kind, true));
    const auto plain = compiler.run(nvrtc_, job(kind, false));
    EXPECT_EQ(told_by(named), told_by(plain)) << to_string(kind);
    if (named) {
      EXPECT_TRUE(named->readings->rooted) << "compiled twice";
      EXPECT_FALSE(plain->readings->rooted);
    }
  }
}

constexpr const char* kernel = "extern \"C\" __global__ void k(int* x) { *x = VAL; }\n";
constexpr const char* bytes = "extern \"C\" __global__ void k(int* x) { *x = t[threadIdx.x]; }\n";

INSTANTIATE_TEST_SUITE_P(
    Tellers, Named,
    ::testing::Values(
        Teller{"Nothing", "#define VAL 1\n", kernel},
        Teller{"AString", "__device__ const char t[] = __FILE__;\n", bytes},
        Teller{
            "AWideString",
            "#define W_(x) L##x\n#define W(x) W_(x)\n__device__ const wchar_t t[] = W(__FILE__);\n",
            bytes},
        Teller{"ASize", "#define VAL sizeof(__FILE__)\n__device__ int s = VAL;\n", kernel},
        Teller{"AGuardedHeader",
               "#ifndef G\n#define G\n#include \"beside.h\"\n__device__ const char t[] = "
               "__FILE__;\n#endif\n",
               bytes},
        Teller{"AHash",
               "constexpr unsigned h(const char* s) { return *s ? h(s + 1) * 33 ^ *s : 5381; }\n"
               "constexpr unsigned here = h(__FILE__);\n#define VAL here\n",
               kernel},
        Teller{"AnAssertion",
               "constexpr bool has(const char* s) { return *s && (*s == ' ' || has(s + 1)); }\n"
               "static_assert(has(__FILE__));\n#define VAL 1\n",
               kernel},
        Teller{
            "ATemplateArgument",
            "template <int n> struct Text { char c[n]; constexpr Text(const char (&t)[n]) : c{} { "
            "for (int i = 0; i < n; ++i) "
            "c[i] = t[i]; } };\ntemplate <Text t> __global__ void of(int* x) { *x = sizeof(t); }\n"
            "template __global__ void of<__FILE__>(int*);\n#define VAL 1\n",
            kernel},
        Teller{"ALine", "__device__ int line = __LINE__;\n#define VAL 1\n", kernel},
        Teller{"AFailedAssertion",
               "#include <assert.h>\n__device__ inline int f(int x) { assert(x > 1); return x; "
               "}\n#define VAL f(*x)\n",
               kernel},
        Teller{"AWarning",
               "#pragma once\n__device__ inline void f() { int unused; }\n#define VAL 1\n", kernel},
        Teller{"AnError", "#ifndef G\n#define G\n\n__device__ int x = \"a\";\n#endif\n", kernel},
        Teller{"AMessage", "#warning here\n#error and here\n", kernel},
        Teller{"AHeaderThatIsNotThere", "#include \"nowhere.h\"\n", kernel},
        Teller{"AnUnfinishedComment", "#ifndef G\n#define G\n/*\n#endif\n", kernel},
        Teller{"AnUnfinishedConditional", "\n#if 1\n", kernel},
        Teller{"MoreThanAGuard", "#ifndef G x\n#define VAL 1\n#endif\n", kernel},
        Teller{"AnonymousNames",
               "namespace { struct S { int x; }; __device__ int hidden; }\nstatic __device__ int "
               "own;\n"
               "template <class T> __global__ void of(T* x) { x->x = hidden += own; }\n"
               "template __global__ void of<S>(S*);\n#define VAL own\n",
               kernel}),
    [](const auto& teller) { return std::string(teller.param.name); });

}  // namespace
}  // namespace kiln::test
