// What a program may not be, and what the compiler has to say of it.

#include "kiln/program.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

Error error_of(ProgramSpec spec) {
  const auto program = Program::make(std::move(spec));
  EXPECT_FALSE(program);
  return program ? Error{} : program.error();
}

TEST(Program, NamesAreRelativeFileNames) {
  for (const auto* name : {"", "/abs.cu", "../up.cu", "a/../../b.cu", "folder/", "new\nline.cu"}) {
    const auto error = error_of({.name = name, .source = ""});
    EXPECT_EQ(error.code, ErrorCode::invalid_argument) << name;
    EXPECT_NE(error.message.find("program name"), std::string::npos);
  }
  EXPECT_TRUE(Program::make({.name = "folder/a b.cu", .source = ""}));
}

TEST(Program, AnIncludeDirectoryWithoutANameIsRefused) {
  const auto error = error_of({.name = "a.cu", .source = "", .include_dirs = {""}});
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_NE(error.message.find("include directory '' is not a path"), std::string::npos)
      << error.message;
}

TEST(Program, OptionsThatKilnOwnsNameTheFieldToUse) {
  const std::pair<const char*, const char*> owned[] = {{"--gpu-architecture=sm_80", "Target"},
                                                       {"-arch=sm_80", "Target"},
                                                       {"-arch", "Target"},
                                                       {"-I/include", "include_dirs"},
                                                       {"--include-path=/x", "include_dirs"},
                                                       {"-include=a.h", "#include"},
                                                       {"--pre-include=a.h", "#include"},
                                                       {"-dlto", "image kind"},
                                                       {"--dlink-time-opt", "image kind"},
                                                       {"--optix-ir", "image kind"},
                                                       {"-frandom-seed=1", "kiln decides"},
                                                       {"-pch", "kiln decides"},
                                                       {"--pch-dir=/x", "kiln decides"},
                                                       {"--create-pch=x", "kiln decides"},
                                                       {"--use-pch=x", "kiln decides"},
                                                       {"--time=x", "write files"},
                                                       {"-fdevice-time-trace=x", "write files"},
                                                       {"--no-cache", "kiln decides"},
                                                       {"--no-source-include", "kiln decides"}};
  for (const auto& [option, remedy] : owned) {
    const auto error = error_of({.name = "a.cu", .source = "", .options = {option}});
    EXPECT_EQ(error.code, ErrorCode::invalid_option) << option;
    EXPECT_NE(error.message.find(std::string("'") + option + "'"), std::string::npos)
        << error.message;
    EXPECT_NE(error.message.find(remedy), std::string::npos) << error.message;
  }
  EXPECT_TRUE(Program::make({.name = "a.cu",
                             .source = "",
                             .options = {"--std=c++20", "-DIN=1", "-lineinfo", "-minimal"}}));
}

// NVRTC skips a blank before an option, so that would be a way around the rest.
TEST(Program, OptionsDoNotBeginWithABlank) {
  for (const auto* option : {" -I/include", "\t--gpu-architecture=sm_80", "-DA ", "\n-dlto"}) {
    const auto error = error_of({.name = "a.cu", .source = "", .options = {option}});
    EXPECT_EQ(error.code, ErrorCode::invalid_option) << option;
  }
}

TEST(Program, HoldsNoNul) {
  EXPECT_EQ(error_of({.name = "a.cu", .source = std::string("a\0b", 3)}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of({.name = "a.cu", .source = "", .options = {std::string("-D\0", 3)}}).code,
            ErrorCode::invalid_option);
  EXPECT_EQ(error_of({.name = "a.cu", .source = "", .kernels = {""}}).code,
            ErrorCode::invalid_argument);
}

TEST(Program, CopiesAreOneHandle) {
  const auto program =
      Program::make({.name = "a.cu", .source = "x", .kernels = {"b", "a", "b"}}).value();
  const Program copy = program;
  EXPECT_EQ(copy.id(), program.id());
  EXPECT_EQ(program.kernels(), (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(Program::make({.name = "a.cu", .source = "x"}).value().id(), program.id());
}

// Each of these leaves the cache's entries as they were.
class BadProgram : public CompileFixture {
 protected:
  Error failure(ProgramSpec spec, const std::string& arch = "sm_80") {
    origin_of({.name = "good.cu", .source = "extern \"C\" __global__ void good() {}"});
    const auto before = entries();
    const auto artifact = try_compile(std::move(spec), arch);
    EXPECT_FALSE(artifact);
    EXPECT_EQ(entries(), before);
    return artifact ? Error{} : artifact.error();
  }

 private:
  /// Each key with what it stands for, as the next process sees it.
  std::map<std::string, std::string> entries() const {
    auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only}).value();
    std::map<std::string, std::string> found;
    const auto listed = cache.list().value();
    for (const auto& summary : listed) {
      found[summary.key.hex()] = cache.entry(summary.key).value().artifact.image;
    }
    return found;
  }
};

TEST_F(BadProgram, AnErrorInTheSource) {
  const auto error = failure({.name = "bad.cu",
                              .source = "__global__ void k() {\n  oops;\n  again;\n}",
                              .options = {"-DA=1"}});
  EXPECT_EQ(error.code, ErrorCode::compile_failed);
  EXPECT_NE(error.message.find("bad.cu for sm_80"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("-DA=1"), std::string::npos) << error.message;
  EXPECT_NE(error.log.find("bad.cu(2): error: identifier \"oops\""), std::string::npos)
      << error.log;
  EXPECT_NE(error.log.find("bad.cu(3): error: identifier \"again\""), std::string::npos)
      << error.log;
}

TEST_F(BadProgram, AnArchitectureThatTheCompilerDoesNotKnow) {
  const auto error = failure({.name = "a.cu", .source = "__global__ void k() {}"}, "sm_77");
  EXPECT_EQ(error.code, ErrorCode::unknown_arch);
  EXPECT_NE(error.message.find("'sm_77'"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("sm_80"), std::string::npos) << error.message;
  EXPECT_EQ(failure({.name = "a.cu", .source = "__global__ void k() {}"}, "sm_80a").code,
            ErrorCode::unknown_arch);
}

TEST_F(BadProgram, AnOptionThatTheCompilerRefuses) {
  const auto error = failure(
      {.name = "a.cu", .source = "__global__ void k() {}", .options = {"--no-such-option"}});
  EXPECT_EQ(error.code, ErrorCode::invalid_option);
  EXPECT_NE(error.log.find("no-such-option"), std::string::npos) << error.log;
}

TEST_F(BadProgram, ANameExpressionThatDoesNotExist) {
  const auto error = failure({.name = "a.cu",
                              .source = "template <class T> __global__ void k() {}",
                              .kernels = {"k<int>", "nosuch<int, 4>"}});
  EXPECT_EQ(error.code, ErrorCode::unknown_kernel);
  EXPECT_EQ(
      error.message,
      "a.cu for sm_80: the name expression 'nosuch<int, 4>' does not name a kernel of the program; "
      "its source declares k<…>");
  EXPECT_TRUE(error.log.starts_with("error: identifier \"nosuch\" is undefined\n")) << error.log;
}

TEST_F(BadProgram, AMisspelledNameExpressionGivesTheKernelThatWasMeant) {
  const auto error_of = [this](const std::string& expression) {
    return failure({.name = "a.cu",
                    .source = "template <class T, int n> __global__ void scale() {}\n"
                              "__global__ void other() {}\n"
                              "namespace far { template <class T> __global__ void off() {} }",
                    .kernels = {expression}});
  };
  EXPECT_TRUE(error_of("engine::sclae<int, 4>").message.ends_with("; did you mean scale<…>?"));
  EXPECT_TRUE(error_of("othr").message.ends_with("; did you mean other?"));
  EXPECT_TRUE(error_of("off<int>").message.ends_with("; did you mean far::off<…>?"));
  EXPECT_TRUE(error_of("far::of<int>").message.ends_with("; did you mean far::off<…>?"));
  EXPECT_TRUE(error_of("::far::off<1>").message.ends_with("does not name a kernel of the program"));
  const auto error = error_of("scale<int>");
  EXPECT_TRUE(error.message.ends_with("does not name a kernel of the program")) << error.message;
  EXPECT_NE(error.log.find("error: "), std::string::npos) << error.log;
  EXPECT_EQ(error.log.find("nv_"), std::string::npos) << error.log;
}

TEST_F(BadProgram, AnErrorInTheSourceBeforeOneInAnExpression) {
  const auto error =
      failure({.name = "a.cu", .source = "oops;\n__global__ void k() {}", .kernels = {"nosuch"}});
  EXPECT_EQ(error.code, ErrorCode::compile_failed);
}

TEST_F(BadProgram, AHeaderThatIsNotFound) {
  const auto error = failure({.name = "a.cu",
                              .source = "#include <engine/missing.cuh>",
                              .include_dirs = {scratch_ / "include"}});
  EXPECT_EQ(error.code, ErrorCode::header_not_found);
  EXPECT_NE(error.message.find("\"engine/missing.cuh\""), std::string::npos) << error.message;
  EXPECT_NE(error.message.find((scratch_ / "include").string()), std::string::npos)
      << error.message;
}

TEST_F(BadProgram, AllHeadersThatAreNotFound) {
  const auto error =
      failure({.name = "a.cu",
               .source = "#include <first.h>\n#include \"engine/x.cuh\"\n"
                         "#if __has_include(<asked.h>)\n#include <asked.h>\n#endif\n"
                         "#include <first.h>\n#include <third.h>\n",
               .headers = {HeaderSet::from_texts(
                   {{"engine/x.cuh", "#include <cuda_fp16.h>\n#include <second.h>\n"}})}});
  EXPECT_EQ(error.code, ErrorCode::header_not_found);
  EXPECT_NE(error.message.find("\"first.h\""), std::string::npos) << error.message;
  EXPECT_TRUE(
      error.message.ends_with(". Not found either, if the program gets to them: third.h, second.h"))
      << error.message;
}

TEST_F(BadProgram, OfManyHeadersThatAreNotFoundTheFirst) {
  std::string source;
  for (int number = 0; number < 20; ++number)
    source += "#include <lost" + std::to_string(number) + ".h>\n";
  const auto error = failure({.name = "a.cu", .source = source});
  EXPECT_TRUE(error.message.ends_with("lost7.h, lost8.h and 11 more")) << error.message;
}

}  // namespace
}  // namespace kiln::test
