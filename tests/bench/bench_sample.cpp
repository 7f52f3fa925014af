#include "bench_sample.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace kiln::bench {
namespace {

constexpr std::uint64_t first_engine_header = 20;

/// splitmix64: small, fast, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Lines that compress as source text does.
const std::string& make_text(std::uint64_t number, std::size_t lines) {
  static std::map<std::uint64_t, std::string> made;  // Many entries share one.
  std::string& text = made[number];
  if (!text.empty()) return text;
  Random random(number);
  for (std::size_t line = 0; line < lines; ++line) {
    const std::uint64_t bits = random.next();
    text += "  float v" + std::to_string(bits % 97) + " = load<" + std::to_string(bits >> 40 & 15) +
            ">(x + " + std::to_string(bits >> 50 & 1023) + ") * scale[" +
            std::to_string(bits >> 60) + "];\n";
  }
  return text;
}

/// The file that KILN_BENCH_IMAGE names; empty where it names none.
const std::string& real_image() {
  static const std::string image = [] {
    const char* file = std::getenv("KILN_BENCH_IMAGE");
    std::ifstream in(file ? file : "", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return image;
}

/// A real image over and over, with a number in every KiB.
std::string make_real_image(std::uint64_t number, std::size_t bytes) {
  std::string image;
  while (image.size() < bytes) image += real_image();
  image.resize(bytes);
  for (std::size_t at = 0; at + sizeof number <= bytes; at += 1024) {
    std::memcpy(image.data() + at, &number, sizeof number);
  }
  return image;
}

}  // namespace

// A cubin is mostly instructions of 16 bytes: few operations, many registers and offsets, and loops that
// were unrolled. So words of a small vocabulary, with a few bits of each changed, and repeated runs of them.
std::string make_image(std::uint64_t number, std::size_t bytes) {
  if (!real_image().empty()) return make_real_image(number, bytes);
  constexpr std::size_t word_bytes = 16;
  constexpr std::size_t run_bytes = 5 * word_bytes;
  constexpr std::size_t reach = 16'384;
  Random vocabulary_random(7);
  std::array<std::uint64_t, 128> vocabulary;
  for (auto& half : vocabulary) half = vocabulary_random.next() & vocabulary_random.next();

  Random random(number);
  std::string image(bytes, '\0');
  for (std::size_t at = 0; at + word_bytes <= bytes;) {
    const std::uint64_t bits = random.next();
    if (bits % 8 == 0 && at > run_bytes && at + run_bytes <= bytes) {
      const std::size_t back = run_bytes + (bits >> 40) % (std::min(at, reach) - run_bytes);
      std::memcpy(image.data() + at, image.data() + at - back / word_bytes * word_bytes, run_bytes);
      at += run_bytes;
      continue;
    }
    const std::size_t word = (bits >> 3 & 7) * (bits >> 6 & 7);
    const std::uint64_t low = vocabulary[2 * word] ^ (bits >> 10 & bits >> 16 & 63) << 16;
    const std::uint64_t high = vocabulary[2 * word + 1] ^ (bits >> 30 & bits >> 34 & 7) << 8;
    std::memcpy(image.data() + at, &low, sizeof low);
    std::memcpy(image.data() + at + sizeof low, &high, sizeof high);
    at += word_bytes;
  }
  return image;
}

std::vector<Text> Sample::texts() const {
  std::vector<Text> texts{{digest_of(source), source}};
  for (const std::string& header : headers) texts.push_back({digest_of(header), header});
  return texts;
}

const Toolchain& toolchain() {
  static const Toolchain made{digest_of("a compiler"), "NVRTC 13.0"};
  return made;
}

Request make_request(std::uint64_t number) {
  static const Digest source = digest_of("__global__ void scale(float* x);\n");
  return {.program = "engine/scale.cu",
          .source = source,
          .source_bytes = 33,
          .options = {"--std=c++20", "--use_fast_math", "-DVARIANT=" + std::to_string(number)},
          .expressions = {"engine::scale<float>", "engine::scale<__half>"},
          .arch = "sm_90a",
          .kind = "cubin"};
}

Sample make_sample(std::uint64_t number, std::size_t bytes) {
  Sample sample;
  sample.source = "__global__ void scale(float* x);\n";
  sample.request = make_request(number);
  sample.artifact.image = make_image(number, bytes);
  sample.artifact.toolchain = toolchain().text;
  sample.artifact.compile_us = 27'000;
  for (const auto& [expression, symbol] :
       {std::pair("engine::scale<float>", "_ZN6engine5scaleIfEEvPT_S2_j"),
        std::pair("engine::scale<__half>", "_ZN6engine5scaleI6__halfEEvPT_S3_j")}) {
    sample.artifact.kernels.push_back({.expression = expression,
                                       .symbol = symbol,
                                       .registers = 24,
                                       .params_known = true,
                                       .params = {{0, 8}, {8, 8}, {16, 4}}});
    sample.code.push_back({.bytes = 1024, .spills = Spills()});
  }
  return sample;
}

Sample make_engine_sample(std::uint64_t number) {
  Sample sample = make_sample(number);
  sample.source = make_text(number / 10, 200);
  sample.request.source = digest_of(sample.source);
  sample.request.source_bytes = sample.source.size();
  const std::uint64_t newest = first_engine_header + number / 100;
  for (std::uint64_t header = newest; header > newest - first_engine_header; --header) {
    sample.headers.push_back(make_text(header << 32, 300));
    sample.dependencies.lookups.push_back({.spelling = "engine/h" + std::to_string(header) + ".cuh",
                                           .content = digest_of(sample.headers.back())});
  }
  return sample;
}

}  // namespace kiln::bench
