// Which stored image a device gets, down to PTX; the caller's own choice; a driver that is too old.

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "image/driver_age.h"
#include "kiln/cache.h"
#include "kiln/runtime.h"
#include "support/scratch.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Archs = std::vector<std::string>;

struct Device {
  const char* arch;
  Archs images;  ///< That it is given, best first; what begins with "compute_" is PTX.
};

const Archs stored{"sm_75",       "sm_80",       "sm_86",       "sm_89",        "sm_90",
                   "sm_90a",      "sm_100",      "sm_100a",     "sm_100f",      "sm_103",
                   "sm_103a",     "sm_103f",     "sm_120",      "sm_120a",      "sm_120f",
                   "sm_121",      "sm_121a",     "sm_121f",     "compute_75",   "compute_80",
                   "compute_90",  "compute_90a", "compute_100", "compute_100f", "compute_120",
                   "compute_120f"};

const std::vector<Device> devices{
    {"75", {"sm_75", "compute_75"}},
    {"80", {"sm_80", "compute_80", "compute_75"}},
    {"86", {"sm_86", "sm_80", "compute_80", "compute_75"}},
    {"89", {"sm_89", "sm_86", "sm_80", "compute_80", "compute_75"}},
    {"90", {"sm_90a", "sm_90", "compute_90a", "compute_90", "compute_80", "compute_75"}},
    {"100",
     {"sm_100a", "sm_100f", "sm_100", "compute_100f", "compute_100", "compute_90", "compute_80",
      "compute_75"}},
    {"103",
     {"sm_103a", "sm_103f", "sm_100f", "sm_103", "sm_100", "compute_100f", "compute_100",
      "compute_90", "compute_80", "compute_75"}},
    {"120",
     {"sm_120a", "sm_120f", "sm_120", "compute_120f", "compute_120", "compute_100", "compute_90",
      "compute_80", "compute_75"}},
    {"121",
     {"sm_121a", "sm_121f", "sm_120f", "sm_121", "sm_120", "compute_120f", "compute_120",
      "compute_100", "compute_90", "compute_80", "compute_75"}},
};

Target target_of(const std::string& arch) {
  const auto kind = arch.starts_with("compute_") ? ImageKind::ptx : ImageKind::cubin;
  return Target::parse(arch, kind).value();
}

class ImagesTest : public FakeDriverTest {
 protected:
  RuntimeOptions options(const std::filesystem::path& cache) {
    return {.cache_directory = cache,
            .cuda_driver = fake_driver_path(),
            .log_level = LogLevel::off,
            .observer = [this](const Event& event) {
              if (event.kind == EventKind::load)
                loads_.push_back(std::string(event.arch) + " " + std::string(event.detail));
            }};
  }

  std::map<std::string, Digest> store(const std::filesystem::path& cache, const Archs& archs) {
    Runtime farm = Runtime::open(options(cache)).value();
    std::map<std::string, Digest> keys;
    for (const auto& arch : archs) keys[arch] = farm.compile(program_, target_of(arch))->key;
    return keys;
  }

  // As if another compiler had made the image.
  void make_it_of(const Digest& key, const std::string& toolchain) {
    auto cache = Cache::open(scratch_ / "cache").value();
    auto entry = cache.entry(key).value();
    entry.artifact.toolchain = toolchain;
    entry.toolchain.text = toolchain;
    ASSERT_TRUE(cache.put(
        {entry.request, entry.dependencies, entry.toolchain, entry.artifact, nullptr, {}}));
  }

  const kiln::test::ScratchDirectory scratch_;
  const Program program_ =
      make_program("extern \"C\" __global__ void k(int* x, int y) { *x = y; }", {"k"});
  std::vector<std::string> loads_;
};

// Each time the image that a device was given is taken away, until there is none.
TEST_F(ImagesTest, EachDeviceIsGivenTheBestThatIsLeft) {
  const auto keys = store(scratch_ / "all", stored);
  for (const auto& device : devices) {
    const auto cache = scratch_ / device.arch;
    std::filesystem::copy(scratch_ / "all", cache, std::filesystem::copy_options::recursive);
    auto allowing = options(cache);
    allowing.allow_ptx = true;
    allowing.mode = Mode::cache_only;
    set("FAKE_CUDA_ARCH", device.arch);
    Archs given;
    for (;;) {
      Runtime runtime = Runtime::open(allowing).value();
      const auto kernel = runtime.kernel(program_, "k");
      EXPECT_EQ(runtime.counters().refusals, 0U) << device.arch;
      if (!kernel) {
        EXPECT_EQ(kernel.error().code, ErrorCode::not_cached) << kernel.error().message;
        break;
      }
      EXPECT_EQ(kernel->image_kind(), to_string(target_of(kernel->arch()).kind()));
      given.push_back(kernel->arch());
      Cache::open(cache).value().forget(keys.at(kernel->arch()));
    }
    EXPECT_EQ(given, device.images) << device.arch;
  }
}

TEST_F(ImagesTest, PtxIsLoadedOnlyWhereThatIsAllowed) {
  (void)store(scratch_ / "cache", {"compute_80"});
  auto asked = options(scratch_ / "cache");
  asked.mode = Mode::cache_only;
  EXPECT_EQ(Runtime::open(asked)->kernel(program_, "k").error().code, ErrorCode::not_cached);
  set("KILN_ALLOW_PTX", "1");
  Runtime allowing = Runtime::open(asked).value();
  const auto kernel = allowing.kernel(program_, "k").value();
  EXPECT_EQ(kernel.image_kind(), "ptx");
  int* x = nullptr;
  ASSERT_TRUE(kernel.launch(nullptr, {}, x, 5).has_value());
  EXPECT_EQ(received(0, 1), bytes_of(5));
  EXPECT_FALSE(kernel.launch(nullptr, {}, x, 5.0).has_value())
      << "the driver tells what PTX does not";
  EXPECT_THAT(loads_, ElementsAre("compute_80 ptx on device 0, Fake GPU sm_90 (compute capability "
                                  "9.0)"));
}

TEST_F(ImagesTest, PtxMayBeAskedForByARealName) {
  auto asked = options(scratch_ / "cache");
  asked.allow_ptx = true;
  Runtime runtime = Runtime::open(asked).value();
  ASSERT_TRUE(runtime.compile(program_, Target::parse("sm_80", ImageKind::ptx).value()));
  EXPECT_EQ(runtime.kernel(program_, "k")->image_kind(), "ptx");
}

TEST_F(ImagesTest, TheCallersChoiceIsTheOneAndNoOther) {
  (void)store(scratch_ / "cache", {"sm_90a", "sm_90"});
  Runtime runtime = Runtime::open(options(scratch_ / "cache")).value();
  EXPECT_EQ(runtime.kernel(program_, "k", target_of("sm_90"))->arch(), "sm_90");
  EXPECT_EQ(runtime.kernel(program_, "k")->arch(), "sm_90a");
  EXPECT_EQ(runtime.kernel(program_, "k", Target::parse("native").value())->arch(), "sm_90a");
  EXPECT_EQ(runtime.counters().compiles, 0U);
  const auto ptx = runtime.kernel(program_, "k", target_of("compute_75"));
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_EQ(ptx->image_kind(), "ptx") << "PTX that is asked for needs nobody's leave";
  EXPECT_EQ(runtime.counters().compiles, 1U);

  const auto refused = runtime.kernel(program_, "k", target_of("sm_80"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().vendor_code, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(refused.error().message, HasSubstr("test.cu for sm_80"));
  const auto no_image =
      runtime.kernel(program_, "k", Target::parse("sm_90", ImageKind::ltoir).value());
  EXPECT_EQ(no_image.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(runtime.kernel(program_, "other", target_of("sm_90")).error().code,
            ErrorCode::unknown_kernel);
}

TEST_F(ImagesTest, ADriverOfAnOlderMajorIsNamedWithTheRemedies) {
  set("FAKE_CUDA_VERSION", "12080");
  fail_("cuLibraryLoadData", CUDA_ERROR_INVALID_IMAGE);
  Runtime runtime = Runtime::open(options(scratch_ / "cache")).value();
  const auto refused = runtime.kernel(program_, "k");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::driver_failed);
  EXPECT_EQ(refused.error().vendor_code, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("CUDA_ERROR_INVALID_IMAGE (200); it was built against 13.0 (NVRTC 13.0) but "
                "the driver is 12.8: update the driver (R580 or newer), or compile with an "
                "NVRTC of CUDA 12 (KILN_NVRTC)"));
}

// Before anything is compiled.
TEST_F(ImagesTest, TheDriverSaysItselfThatItIsTooOldForTheCompiler) {
  set("FAKE_CUDA_VERSION", "12080");
  const auto driver = Runtime::open(options(scratch_ / "cache"))->driver();
  EXPECT_TRUE(driver.available) << "older images load";
  EXPECT_THAT(driver.description, HasSubstr("CUDA 12.8, "));
  EXPECT_THAT(driver.description,
              HasSubstr("; too old for what NVRTC 13.0 compiles here: update the driver (R580 or "
                        "newer), or compile with an NVRTC of CUDA 12 (KILN_NVRTC)"));
  set("FAKE_CUDA_VERSION", "13000");
  EXPECT_THAT(Runtime::open(options(scratch_ / "cache"))->driver().description,
              Not(HasSubstr("too old")));
}

// Its own compiler is too new for the driver, and another one has been before.
TEST_F(ImagesTest, OfAllThatServeTheDriverIsGivenWhatItTakes) {
  const auto keys = store(scratch_ / "cache", {"sm_90a"});
  auto cache = Cache::open(scratch_ / "cache").value();
  auto entry = cache.entry(keys.at("sm_90a")).value();
  entry.artifact.toolchain = "NVRTC 12.8";
  const Toolchain older{digest_of("another"), "NVRTC 12.8"};
  ASSERT_TRUE(cache.put({entry.request, entry.dependencies, older, entry.artifact, nullptr, {}}));
  auto asked = options(scratch_ / "cache");
  asked.toolchains = "any";
  Digest loaded;
  asked.observer = [&](const Event& event) {
    if (event.kind == EventKind::load) loaded = event.key;
  };
  const auto load = [&](const char* version) {
    set("FAKE_CUDA_VERSION", version);
    EXPECT_TRUE(Runtime::open(asked)->kernel(program_, "k"));
    return loaded;
  };
  EXPECT_EQ(load("13000"), keys.at("sm_90a"));
  EXPECT_NE(load("12080"), keys.at("sm_90a"));
}

// Others that share the cache may have a newer one.
TEST_F(ImagesTest, WhatADriverIsTooOldForStaysInTheCache) {
  const auto keys = store(scratch_ / "cache", {"sm_90a"});
  set("FAKE_CUDA_VERSION", "12080");
  fail_("cuLibraryLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU);
  {
    Runtime runtime = Runtime::open(options(scratch_ / "cache")).value();
    const auto refused = runtime.kernel(program_, "k");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("built against 13.0"));
    EXPECT_EQ(runtime.counters().compiles, 0U) << "it would be as new";
    EXPECT_EQ(runtime.counters().refusals, 0U);
  }
  EXPECT_TRUE(Cache::open(scratch_ / "cache")->entry(keys.at("sm_90a")));
}

TEST_F(ImagesTest, PtxThatIsTooNewGivesWayToACompile) {
  auto asked = options(scratch_ / "cache");
  asked.allow_ptx = true;
  const auto keys = store(scratch_ / "cache", {"compute_80"});
  set("FAKE_CUDA_VERSION", "13000");
  EXPECT_EQ(Runtime::open(asked)->kernel(program_, "k")->image_kind(), "ptx");
  make_it_of(keys.at("compute_80"), "NVRTC 13.9");
  Runtime runtime = Runtime::open(asked).value();
  EXPECT_EQ(runtime.kernel(program_, "k")->image_kind(), "cubin");
  EXPECT_EQ(runtime.counters().compiles, 1U);
  EXPECT_TRUE(Cache::open(scratch_ / "cache")->entry(keys.at("compute_80")));
}

// As a driver of CUDA 13.0 has it: it loads the text, and refuses whoever asks for a kernel.
TEST_F(ImagesTest, PtxThatTheDriverDoesNotCompileIsRefusedWithItsReason) {
  fail_("cuLibraryGetKernel", CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  Runtime runtime = Runtime::open(options(scratch_ / "cache")).value();
  const auto before = library_count_();
  const auto foreign = runtime.module_of_image(
      ".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
      "later.ptx");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().vendor_code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_THAT(foreign.error().message, HasSubstr("the driver does not load later.ptx for sm_90"));
  const auto own = runtime.kernel(program_, "k", target_of("compute_75"));
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().vendor_code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(library_count_(), before) << "what is refused is unloaded";
}

TEST_F(ImagesTest, ADriverThatIsNewEnoughIsNotBlamed) {
  set("FAKE_CUDA_VERSION", "13000");
  fail_("cuLibraryLoadData", CUDA_ERROR_INVALID_IMAGE);
  Runtime runtime = Runtime::open(options(scratch_ / "cache")).value();
  EXPECT_THAT(runtime.kernel(program_, "k").error().message, Not(HasSubstr("built against")));
}

// The reason is the driver's, not that nothing else is there.
TEST_F(ImagesTest, ARefusalIsToldWhereNoOtherImageIsThere) {
  (void)store(scratch_ / "cache", {"sm_90a"});
  auto asked = options(scratch_ / "cache");
  asked.mode = Mode::cache_only;
  set("FAKE_CUDA_VERSION", "13000");
  fail_("cuLibraryLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU);
  const auto refused = Runtime::open(asked)->kernel(program_, "k");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::driver_failed);
  EXPECT_THAT(refused.error().message, HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU"));
  EXPECT_THAT(refused.error().message, HasSubstr("; nor is there another image: "));
}

TEST(DriverAgeTest, ACubinNeedsTheMajorAndPtxTheMinorToo) {
  const auto why = [](const char* toolchain, const char* kind, int driver) {
    return why_too_old({.kind = kind, .toolchain = toolchain}, driver);
  };
  EXPECT_EQ(why("NVRTC 13.2", "cubin", 13000), "");
  EXPECT_EQ(why("NVRTC 12.8", "ptx", 13000), "");
  EXPECT_EQ(why("NVRTC 13.0", "ptx", 13000), "");
  EXPECT_EQ(why("somebody's", "cubin", 12000), "");
  EXPECT_THAT(why("nvJitLink 13.0", "cubin", 12040),
              HasSubstr("built against 13.0 (nvJitLink 13.0) but the driver is 12.4: update"));
  EXPECT_THAT(why("NVRTC 14.1", "ptx", 13000), HasSubstr("(one for CUDA 14)"));
  const auto newer = why("NVRTC 13.2", "ptx", 13000);
  EXPECT_THAT(newer, HasSubstr("built against 13.2 (NVRTC 13.2) but the driver is 13.0"));
  EXPECT_THAT(newer, HasSubstr("prewarm a cubin"));
  EXPECT_THAT(newer, HasSubstr("an NVRTC of CUDA 13.0 (KILN_NVRTC)"));
}

}  // namespace
}  // namespace kiln
