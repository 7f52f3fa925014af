#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// Prints what nvdisasm prints of the sections of two kernels, and what it was given.
constexpr const char* stand_in = R"sh(#!/bin/sh
printf '\t.target\tsm_80\n'
for section in .text.fill .text._Z5scaleIfLi4EEvPT_S0_; do
  printf '//--------------------- %s                --------------------------\n' "$section"
  printf '\t.section\t%s,"ax",@progbits\n' "$section"
done
echo "given $* $(head -c 4 "$2" | tail -c 3)" >&2
)sh";

class Disasm : public ToolTest {
 protected:
  Disasm() {
    fs::permissions(stand_in_, fs::perms::owner_all);
    key_ = compile_as("cubin")["key"];
  }

  Json compile_as(const std::string& image) const {
    return compile({source_, "--arch", "sm_80", "--name", "scale<float, 4>", "--name", "fill",
                    "--image", image});
  }

  [[nodiscard]] Circumstances with_stand_in() const {
    auto circumstances = without_cuda();
    circumstances.environment["KILN_NVDISASM"] = stand_in_;
    return circumstances;
  }

  [[nodiscard]] static Circumstances without_disassembler() {
    auto circumstances = without_cuda();
    circumstances.environment["KILN_NVDISASM"] = "/nonexistent/nvdisasm";
    return circumstances;
  }

  const std::string source_ = file("scale.cu", scale_source);
  const std::string stand_in_ = file("a tool's folder/nvdisasm", stand_in);
  std::string key_;
};

TEST_F(Disasm, HandsTheImageToTheToolkitsProgram) {
  const auto before = snapshot(cache());
  const auto outcome = run({"disasm", key_.substr(0, 8)}, with_stand_in());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(".target\tsm_80"), HasSubstr(".text.fill"),
                                 HasSubstr(".text._Z5scaleIfLi4EEvPT_S0_")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("given -c "), HasSubstr(" ELF")));
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Disasm, ChoosesKernelsByExpressionSymbolAndPattern) {
  const std::string scale = ".section\t.text._Z5scaleIfLi4EEvPT_S0_";
  const std::string fill = ".section\t.text.fill";
  const auto print = [&](const std::string& kernel) {
    const auto outcome = run({"disasm", key_, kernel}, with_stand_in());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  for (const auto* word : {"scale<float, 4>", "scale<float,4>", "_Z5scaleIfLi4EEvPT_S0_", "scale*"})
    EXPECT_THAT(print(word), AllOf(HasSubstr(scale), Not(HasSubstr(fill)))) << word;
  EXPECT_THAT(print("f?ll"), AllOf(HasSubstr(fill), Not(HasSubstr(scale))));
  EXPECT_THAT(print("*"), AllOf(HasSubstr(fill), HasSubstr(scale)));

  const auto none = run({"disasm", key_, "copy"}, with_stand_in());
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("'copy'"), HasSubstr("fill, scale<float, 4>")));
}

TEST_F(Disasm, TellsProgramsAllOfIt) {
  const auto outcome = run({"--json", "disasm", key_, "fill"}, with_stand_in());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto document = outcome.documents().at(0);
  EXPECT_EQ(document["key"], key_);
  EXPECT_EQ(document["form"], "sass");
  EXPECT_EQ(document["tool"], stand_in_);
  EXPECT_EQ(document["kernels"], Json::parse(R"([{"expression":"fill","symbol":"fill"}])"));
  EXPECT_THAT(document["text"].get<std::string>(), HasSubstr(".section\t.text.fill"));
}

TEST_F(Disasm, SaysWhatToInstall) {
  const auto outcome = run({"disasm", key_}, without_disassembler());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("/nonexistent/nvdisasm"),
                                 HasSubstr("nvidia-cuda-nvdisasm"), HasSubstr("KILN_NVDISASM")));
}

TEST_F(Disasm, AFailureOfTheProgramIsOne) {
  const auto fails = file("failing/nvdisasm", "#!/bin/sh\necho 'bad image' >&2\nexit 7\n");
  fs::permissions(fails, fs::perms::owner_all);
  auto circumstances = without_cuda();
  circumstances.environment["KILN_NVDISASM"] = fails;
  const auto outcome = run({"disasm", key_}, circumstances);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("bad image"), HasSubstr("failed with status 7")));

  const auto silent = file("silent/nvdisasm", "#!/bin/sh\n");
  fs::permissions(silent, fs::perms::owner_all);
  circumstances.environment["KILN_NVDISASM"] = silent;
  const auto nothing = run({"disasm", key_}, circumstances);
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_THAT(nothing.err, HasSubstr(silent + " printed nothing of the image"));

  const auto no_program = file("not a program/nvdisasm", "");
  circumstances.environment["KILN_NVDISASM"] = no_program;
  EXPECT_THAT(run({"disasm", key_}, circumstances).err, HasSubstr("Permission denied"));
}

TEST_F(Disasm, PtxIsPrintedAsItIsStored) {
  const std::string key = compile_as("ptx")["key"];
  const auto whole = run({"disasm", key}, without_disassembler());
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.out, run({"extract", key}).out);
  const auto one = run({"disasm", key, "fill", "--ptx"}, without_disassembler());
  EXPECT_THAT(one.out, AllOf(HasSubstr(".version"), HasSubstr(".entry fill("), HasSubstr("ret;"),
                             Not(HasSubstr("_Z5scale"))));
  EXPECT_TRUE(one.out.ends_with("}\n")) << one.out;
}

TEST_F(Disasm, CommentsInInlineAssemblyEndAndBeginNoKernel) {
  const auto source = file("comments.cu", R"cu(
#define COMMENTS asm volatile("/*{*/ // {\n// }}\n/* \" } // \n */ .pragma \"}{//\";")
extern "C" __global__ void one(int* x) { COMMENTS; *x = 1; }
extern "C" __global__ void two(int* x) { COMMENTS; *x = 2; }
extern "C" __global__ void three(int* x) { COMMENTS; *x = 3; }
)cu");
  const std::string key = compile({source, "--arch", "compute_80", "--image", "ptx", "--name",
                                   "one", "--name", "two", "--name", "three"})["key"];
  for (const std::string name : {"one", "two", "three"}) {
    const auto outcome = run({"disasm", key, name}, without_disassembler());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr(".entry " + name), HasSubstr("/*{*/ // {")));
    const auto first = outcome.out.find(".entry ");
    EXPECT_EQ(outcome.out.find(".entry ", first + 1), std::string::npos) << outcome.out;
    EXPECT_TRUE(outcome.out.ends_with("}\n")) << outcome.out;
  }
}

TEST_F(Disasm, AFatbinOfPtxAlonePrintsThat) {
  const auto compile_for = [&](const std::string& archs) {
    Circumstances with_nvfatbin;
#ifdef KILN_TEST_NVFATBIN
    with_nvfatbin.environment["KILN_NVFATBIN"] = KILN_TEST_NVFATBIN;
#endif
    return run(
        {"--json", "compile", source_, "--arch", archs, "--image", "fatbin", "--name", "fill"},
        with_nvfatbin);
  };
  const auto ptx = compile_for("compute_80,compute_90");
  const auto both = compile_for("sm_80,compute_90");
  if (ptx.exit_code != 0 || both.exit_code != 0) GTEST_SKIP() << ptx.err;
  const auto cuobjdump = file("a tool's folder/cuobjdump", "#!/bin/sh\necho \"given $1\"\n");
  fs::permissions(cuobjdump, fs::perms::owner_all);
  const auto show = [&](const Outcome& made) {
    return run({"--json", "disasm", made.documents().at(0)["key"]}, with_stand_in())
        .documents()
        .at(0);
  };
  EXPECT_EQ(show(ptx)["form"], "ptx");
  EXPECT_EQ(show(both)["form"], "sass");
  EXPECT_EQ(show(both)["text"], "given -sass\n");
}

TEST_F(Disasm, PtxIsMadeAgainAndNotKept) {
  const auto before = snapshot(cache());
  const auto made = run({"--json", "disasm", key_, "--ptx"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(snapshot(cache()), before);
  const auto document = made.documents().at(0);
  EXPECT_EQ(document["form"], "ptx");
  EXPECT_TRUE(document["tool"].is_null());
  EXPECT_THAT(document["text"].get<std::string>(), HasSubstr(".entry _Z5scaleIfLi4EEvPT_S0_("));
  const auto nobody = run({"disasm", key_, "--ptx"}, without_cuda());
  EXPECT_EQ(nobody.exit_code, 3);
  EXPECT_THAT(nobody.err, HasSubstr("NVRTC: not found"));
}

TEST_F(Disasm, WhatHoldsNoMachineCodeSaysSo) {
  const std::string key = compile_as("ltoir")["key"];
  const auto outcome = run({"disasm", key}, with_stand_in());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("ltoir"), HasSubstr("--ptx")));
}

// The real programs, where this machine has them.
TEST_F(Disasm, ReadsRealImages) {
  const auto doctor = run({"--json", "doctor"}).documents().at(0);
  if (!doctor["can_disassemble"]["yes"].get<bool>()) GTEST_SKIP() << "there is no nvdisasm";
  const auto fill = run({"disasm", key_, "fill"});
  ASSERT_EQ(fill.exit_code, 0) << fill.err;
  EXPECT_THAT(fill.out, AllOf(HasSubstr("EXIT"), HasSubstr(".text.fill:"), Not(HasSubstr("_Z5"))));

  const auto packed = run({"--json", "compile", source_, "--arch", "sm_80,sm_90", "--name", "fill",
                           "--image", "fatbin"});
  if (packed.exit_code != 0) GTEST_SKIP() << packed.err;
  const auto both = run({"disasm", packed.documents().at(0)["key"], "fill"});
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, AllOf(HasSubstr("sm_80"), HasSubstr("sm_90"), HasSubstr("EXIT")));
}

}  // namespace
}  // namespace kiln::tests
