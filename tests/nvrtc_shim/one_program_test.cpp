// One program of NVRTC's, by kiln's header alone, beside CUDA's.

#include <string>
#include <thread>
#include <vector>

#define NVRTC_GET_TYPE_NAME 1
#include <cuda.h>
#include <gtest/gtest.h>
#include <kiln/kiln.h>
#include <kiln/nvrtc.h>
#include <nvrtc.h>

namespace engine {
struct Tag {};
}  // namespace engine

namespace kiln::test {
namespace {

/// A kernel for each of two types, compiled for sm_80.
class OneProgram : public ::testing::Test {
 protected:
  OneProgram() {
    nvrtcCreateProgram(&program_, "template <class T> __global__ void set(T* x) { *x = 1; }\n",
                       "set.cu", 0, nullptr, nullptr);
    nvrtcAddNameExpression(program_, "set<int>");
    nvrtcAddNameExpression(program_, "set<float>");
    EXPECT_EQ(compile_for("sm_80"), NVRTC_SUCCESS);
  }
  ~OneProgram() override { EXPECT_EQ(nvrtcDestroyProgram(&program_), NVRTC_SUCCESS); }

  [[nodiscard]] nvrtcResult compile_for(const std::string& arch) const {
    const auto option = "-arch=" + arch;
    const auto* const options = option.c_str();
    return nvrtcCompileProgram(program_, 1, &options);
  }

  nvrtcProgram program_ = nullptr;
};

TEST_F(OneProgram, LoweredNamesStayAsLongAsIt) {
  const char* name = nullptr;
  const char* again = nullptr;
  ASSERT_EQ(nvrtcGetLoweredName(program_, "set<int>", &name), NVRTC_SUCCESS);
  EXPECT_EQ(compile_for("compute_90"), NVRTC_SUCCESS);
  EXPECT_EQ(compile_for("none"), NVRTC_ERROR_INVALID_OPTION);
  ASSERT_EQ(nvrtcGetLoweredName(program_, "set<int>", &again), NVRTC_SUCCESS);
  EXPECT_EQ(name, again);
  EXPECT_STREQ(name, "_Z3setIiEvPT_");
}

TEST_F(OneProgram, HasTheImagesOfItsLastCompileAlone) {
  std::size_t size = 0;
  EXPECT_EQ(nvrtcGetCUBINSize(program_, &size), NVRTC_SUCCESS);
  EXPECT_GT(size, 0);
  EXPECT_EQ(compile_for("compute_90"), NVRTC_SUCCESS);
  EXPECT_EQ(nvrtcGetCUBINSize(program_, &size), NVRTC_SUCCESS);
  EXPECT_EQ(size, 0);
  EXPECT_EQ(nvrtcGetPTXSize(program_, &size), NVRTC_SUCCESS);
  std::string ptx(size, '?');
  EXPECT_EQ(nvrtcGetPTX(program_, ptx.data()), NVRTC_SUCCESS);
  EXPECT_NE(ptx.find(".target sm_90"), std::string::npos);
}

TEST_F(OneProgram, MayBeAskedByEightThreads) {
  std::vector<std::string> images(8);
  std::vector<std::thread> threads;
  threads.reserve(images.size());
  for (auto& image : images) {
    threads.emplace_back([&, this] {
      std::size_t size = 0;
      const char* name = nullptr;
      if (nvrtcGetPTXSize(program_, &size) != NVRTC_SUCCESS) return;
      image.resize(size);
      nvrtcGetPTX(program_, image.data());
      nvrtcGetLoweredName(program_, "set<float>", &name);
      if (name == nullptr || image.find(name) == std::string::npos) image.clear();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& image : images) {
    EXPECT_GT(image.size(), 1);
    EXPECT_EQ(image, images.front());
  }
}

TEST(NvrtcTypeName, IsAsTheSourceSpellsIt) {
  std::string name;
  EXPECT_EQ(nvrtcGetTypeName<const engine::Tag*>(&name), NVRTC_SUCCESS);
  EXPECT_EQ(name, "engine::Tag const*");
  EXPECT_EQ(nvrtcGetTypeName<std::vector<float>&>(&name), NVRTC_SUCCESS);
  EXPECT_EQ(name, "std::vector<float, std::allocator<float> >&");
  EXPECT_EQ(nvrtcGetTypeName(typeid(int), &name), NVRTC_SUCCESS);
  EXPECT_EQ(name, "int");
}

}  // namespace
}  // namespace kiln::test
