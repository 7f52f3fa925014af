// Headers of the toolkit that travel in the program.

#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <engine/test/piece_of_libcudacxx.h>
#include <engine/test/toolkit_headers.h>
#include <gtest/gtest.h>

#include "kiln/kiln.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* cub_kernel = R"(
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cuda_fp16.h>
extern "C" __global__ void sum(const __half* x, float* y) {
  using Load = cub::BlockLoad<__half, 128, 4, cub::BLOCK_LOAD_VECTORIZE>;
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Reduce::TempStorage reduce;
  __half items[4];
  Load(load).Load(x + 512 * blockIdx.x, items);
  float sum = 0;
  for (const auto item : items) sum += __half2float(item);
  const float total = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = total;
})";

Result<Artifact> compile(ProgramSpec spec) {
  RuntimeOptions options;
  options.cache_disabled = true;
  const auto program = Program::make(std::move(spec));
  if (!program) return tl::unexpected(program.error());
  return Runtime::open(options).value().compile(*program, Target::parse("sm_80").value());
}

fs::path on_disk(std::string_view name) {
  const fs::path folder = TOOLKIT_FOLDER;
  const auto of_cccl = folder / "cccl" / name;
  return fs::exists(of_cccl) ? of_cccl : folder / name;
}

TEST(Toolkit, ImageIsThatOfTheHeadersOnDisk) {
  ProgramSpec spec{.name = "sum.cu", .source = cub_kernel, .options = {"--std=c++17"}};
  const auto from_disk = compile(spec);
  ASSERT_TRUE(from_disk) << from_disk.error().message << from_disk.error().log;
  spec.toolkit_headers = false;
  EXPECT_FALSE(compile(spec)) << "there are headers on disk";
  spec.headers = {engine::test::toolkit_headers()};
  const auto embedded = compile(spec);
  ASSERT_TRUE(embedded) << embedded.error().message << embedded.error().log;
  EXPECT_EQ(embedded->image, from_disk->image);
}

TEST(Toolkit, TypesOfDeviceHeadersCompile) {
  const auto artifact =
      compile({.name = "types.cu",
               .source = "#include <kiln/half.cuh>\n#include <kiln/bfloat16.cuh>\n"
                         "#include <kiln/fp8.cuh>\nextern \"C\" __global__ void k() {}",
               .headers = {device_headers(), engine::test::toolkit_headers()},
               .toolkit_headers = false});
  ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
}

TEST(Toolkit, StandardHeadersForwardToWhatIsEmbedded) {
  const auto compile_with = [](HeaderSet libcudacxx) {
    return compile({.name = "names.cu",
                    .source = read_file(STANDARD_FOLDER "/names.cu"),
                    .headers = {standard_headers(), std::move(libcudacxx)},
                    .toolkit_headers = false});
  };
  for (const auto& set : {engine::test::toolkit_headers(), engine::test::piece_of_libcudacxx()}) {
    const auto artifact = compile_with(set);
    ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
    EXPECT_EQ(artifact->log, "");
  }
}

TEST(Toolkit, TextsAreThoseOfTheFiles) {
  const auto headers = engine::test::toolkit_headers().headers();
  ASSERT_GT(headers.size(), 600U);
  for (const auto& header : headers) {
    EXPECT_EQ(header.text(), read_file(on_disk(header.name))) << header.name;
    EXPECT_EQ(header.digest, digest_of(header.text())) << header.name;
  }
}

TEST(Toolkit, TextsAreDecompressedOnceForAllThreads) {
  const auto* header = engine::test::piece_of_libcudacxx().find("cuda/std/cstdint");
  ASSERT_NE(header, nullptr);
  std::vector<std::string_view> texts(8);
  std::vector<std::thread> threads;
  for (auto& text : texts) threads.emplace_back([&text, header] { text = header->text(); });
  for (auto& thread : threads) thread.join();
  std::set<const char*> places;
  for (const auto text : texts) places.insert(text.data());
  EXPECT_EQ(places.size(), 1U);
}

TEST(Toolkit, BlockPrimitivesAddLittleToAProgram) {
  const auto added = fs::file_size(WITH_CUB) - fs::file_size(WITHOUT_CUB);
  EXPECT_LE(added, 1'500'000U);
  RecordProperty("added_bytes", static_cast<int>(added));
}

}  // namespace
}  // namespace kiln::test
