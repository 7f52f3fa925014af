#include "gpu_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "decoder_shape.h"
#include "gpu_launch.h"
#include "reference.h"

namespace demo {

namespace {

/// An element type on the host, its name on the device, and twice the error of rounding to it.
template <class T>
struct Element;
template <>
struct Element<kiln::Half> {
  static constexpr std::string_view name = "__half";
  static constexpr double tolerance = 0x1p-10;
};
template <>
struct Element<kiln::BFloat16> {
  static constexpr std::string_view name = "__nv_bfloat16";
  static constexpr double tolerance = 0x1p-7;
};

/// What a vector of 16 bytes holds, in every kernel.
constexpr int vector_width = 8;

/// The same numbers on every run.
std::mt19937& generator() {
  static std::mt19937 generator(1);
  return generator;
}

template <class T>
std::vector<T> random_values(std::size_t count, float deviation = 1.0f) {
  std::normal_distribution<float> distribution(0.0f, deviation);
  std::vector<T> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(distribution(generator()));
  return values;
}

std::vector<int> random_indices(std::size_t count, int below) {
  std::uniform_int_distribution<int> distribution(0, below - 1);
  std::vector<int> indices(count);
  for (int& index : indices) index = distribution(generator());
  return indices;
}

template <class T>
std::vector<float> floats(const std::vector<T>& values) {
  std::vector<float> result;
  result.reserve(values.size());
  for (const T& value : values) result.push_back(static_cast<float>(value));
  return result;
}

constexpr float epsilon = 1e-5f;

/// Probabilities are computed and given in float.
constexpr double probability_tolerance = 1e-5;

template <class T>
double rms_norm_error(const Gpu& gpu, const kiln::Kernel& kernel, int hidden) {
  constexpr std::uint32_t rows = 16;
  const auto x = random_values<T>(rows * static_cast<std::size_t>(hidden));
  const auto weight = random_values<T>(hidden);
  const DeviceArray device_x(gpu, x), device_weight(gpu, weight),
      out(gpu, std::vector<T>(x.size()));
  launch(kernel, {.grid = {rows}, .block = {256}}, out.get(), device_x.get(), device_weight.get(),
         epsilon);
  return reference::relative_error(floats(out.values()),
                                   reference::rms_norm(floats(x), floats(weight), epsilon));
}

template <class T>
double add_rms_norm_error(const Gpu& gpu, const kiln::Kernel& kernel, int hidden) {
  constexpr std::uint32_t rows = 16;
  const auto x = random_values<T>(rows * static_cast<std::size_t>(hidden));
  const auto residual = random_values<T>(x.size());
  const auto weight = random_values<T>(hidden);
  std::vector<T> sum;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum.emplace_back(static_cast<float>(x[i]) + static_cast<float>(residual[i]));
  }
  const DeviceArray device_x(gpu, x), device_residual(gpu, residual), device_weight(gpu, weight),
      out(gpu, std::vector<T>(x.size()));
  launch(kernel, {.grid = {rows}, .block = {256}}, out.get(), device_residual.get(), device_x.get(),
         device_weight.get(), epsilon);
  const auto expected = reference::rms_norm(floats(sum), floats(weight), epsilon);
  return std::max(reference::relative_error(floats(out.values()), expected),
                  reference::relative_error(floats(device_residual.values()), floats(sum)));
}

template <class T>
double rotary_error(const Gpu& gpu, const kiln::Kernel& kernel, int head_dim) {
  constexpr int tokens = 16;
  constexpr int query_heads = 32;
  constexpr int key_heads = 8;
  constexpr int max_positions = 100;
  const int stride = (query_heads + key_heads) * head_dim;
  const auto heads = random_values<T>(static_cast<std::size_t>(tokens) * stride);
  const auto positions = random_indices(tokens, max_positions);
  const auto angles = reference::rotary_angles(max_positions, head_dim);
  const DeviceArray device_heads(gpu, heads);
  const DeviceArray device_angles(gpu, angles);
  const DeviceArray device_positions(gpu, positions);
  T* keys = device_heads.get() + query_heads * head_dim;
  launch(kernel, {.grid = {tokens}, .block = {128}}, device_heads.get(), keys, device_angles.get(),
         device_positions.get(), query_heads, key_heads, stride, stride);
  return reference::relative_error(floats(device_heads.values()),
                                   reference::rotary_embedding(floats(heads), angles, positions,
                                                               query_heads + key_heads, head_dim));
}

template <class T>
double silu_and_mul_error(const Gpu& gpu, const kiln::Kernel& kernel, int intermediate) {
  constexpr std::uint32_t rows = 16;
  const auto gate_and_up = random_values<T>(static_cast<std::size_t>(intermediate) * 2 * rows);
  const DeviceArray device_input(gpu, gate_and_up);
  const DeviceArray out(gpu, std::vector<T>(gate_and_up.size() / 2));
  const std::uint32_t blocks = ceil_div(intermediate / vector_width, 256);
  launch(kernel, {.grid = {blocks, rows}, .block = {256}}, out.get(), device_input.get());
  return reference::relative_error(floats(out.values()),
                                   reference::silu_and_mul(floats(gate_and_up), intermediate));
}

template <class T>
double int4_gemv_error(const Gpu& gpu, const kiln::Kernel& kernel, int in_features,
                       int group_size) {
  // Odd on purpose: the last warp has one row.
  constexpr int out_features = 137;
  constexpr int rows_per_block = 16;
  const std::size_t weight_count = static_cast<std::size_t>(out_features) * in_features;
  std::vector<std::uint32_t> words(weight_count / 8);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(generator()());
  const auto scales = random_values<T>(weight_count / group_size, 0.01f);
  const auto x = random_values<T>(in_features);
  const DeviceArray device_words(gpu, words);
  const DeviceArray device_scales(gpu, scales), device_x(gpu, x),
      y(gpu, std::vector<T>(out_features));
  launch(kernel, {.grid = {ceil_div(out_features, rows_per_block)}, .block = {256}}, y.get(),
         device_words.get(), device_scales.get(), device_x.get(), out_features);
  return reference::relative_error(
      floats(y.values()), reference::int4_gemv(words, floats(scales), floats(x), group_size));
}

template <class T>
double gemm_error(const Gpu& gpu, const kiln::Kernel& kernel, int tile_m, int tile_n) {
  // No multiple of a tile, so that the edges are part of it.
  constexpr int m = 197;
  constexpr int n = 232;
  constexpr int k = 512;
  const auto a = random_values<T>(m * k);
  const auto b = random_values<T>(n * k);
  const DeviceArray device_a(gpu, a), device_b(gpu, b), c(gpu, std::vector<T>(m * n));
  launch(kernel, {.grid = {ceil_div(n, tile_n), ceil_div(m, tile_m)}, .block = {256}}, c.get(),
         device_a.get(), device_b.get(), m, n, k);
  return reference::relative_error(floats(c.values()), reference::gemm(floats(a), floats(b), k));
}

template <class T>
double paged_attention_error(const Gpu& gpu, const kiln::Kernel& kernel, int head_dim,
                             int page_size, int queries_per_kv_head) {
  const std::vector<int> lengths = {0, 1, 16, 77, 1000};
  const int sequences = static_cast<int>(lengths.size());
  const int max_pages = 1000 / page_size + 1;
  constexpr int kv_heads = 2;
  constexpr int pages = 100;
  const reference::AttentionShape shape{sequences, kv_heads,  queries_per_kv_head,
                                        head_dim,  page_size, max_pages};
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  const std::size_t query_size =
      static_cast<std::size_t>(sequences) * kv_heads * queries_per_kv_head * head_dim;
  const std::size_t cache_size = static_cast<std::size_t>(pages) * kv_heads * page_size * head_dim;
  const auto query = random_values<T>(query_size);
  const auto keys = random_values<T>(cache_size);
  const auto values = random_values<T>(cache_size);
  const auto page_table = random_indices(static_cast<std::size_t>(sequences) * max_pages, pages);
  const DeviceArray device_query(gpu, query), device_keys(gpu, keys), device_values(gpu, values),
      out(gpu, std::vector<T>(query.size()));
  const DeviceArray device_table(gpu, page_table), device_lengths(gpu, lengths);
  launch(kernel, {.grid = {kv_heads, static_cast<std::uint32_t>(sequences)}, .block = {128}},
         out.get(), device_query.get(), device_keys.get(), device_values.get(), device_table.get(),
         device_lengths.get(), max_pages, scale);
  return reference::relative_error(
      floats(out.values()), reference::paged_attention(shape, floats(query), floats(keys),
                                                       floats(values), page_table, lengths, scale));
}

template <class T>
double embed_error(const Gpu& gpu, const kiln::Kernel& kernel, int hidden) {
  constexpr int vocabulary = 100;
  const auto table = random_values<T>(static_cast<std::size_t>(vocabulary) * hidden);
  const auto tokens = random_indices(16, vocabulary);
  const DeviceArray device_table(gpu, table), out(gpu, std::vector<T>(tokens.size() * hidden));
  const DeviceArray device_tokens(gpu, tokens);
  launch(kernel, {.grid = {static_cast<std::uint32_t>(tokens.size())}, .block = {64}}, out.get(),
         device_table.get(), device_tokens.get());
  return reference::relative_error(floats(out.values()),
                                   reference::embed(floats(table), tokens, hidden));
}

template <class T>
double write_key_values_error(const Gpu& gpu, const kiln::Kernel& kernel, int head_dim,
                              int page_size) {
  constexpr int pages = 8;
  const reference::CacheShape shape{.kv_heads = 3, .head_dim = head_dim, .page_size = page_size};
  // Two sequences with two pages each: the first ends in the one page, the other goes over to the next.
  const std::vector<int> positions = {0, 1, page_size - 1, page_size};
  const std::vector<int> page_table = {5, 2, 5, 2, 7, 1, 7, 1};
  const std::size_t new_values = positions.size() * shape.kv_heads * head_dim;
  const auto key = random_values<T>(new_values), value = random_values<T>(new_values);
  const auto old =
      random_values<T>(static_cast<std::size_t>(pages) * shape.kv_heads * page_size * head_dim);
  const DeviceArray device_key(gpu, key), device_value(gpu, value), keys(gpu, old),
      values(gpu, old);
  const DeviceArray device_positions(gpu, positions), device_table(gpu, page_table);
  launch(kernel, {.grid = {static_cast<std::uint32_t>(positions.size())}, .block = {64}},
         keys.get(), values.get(), device_key.get(), device_value.get(), device_positions.get(),
         device_table.get(), shape.kv_heads, 2);
  auto expected_keys = floats(old), expected_values = floats(old);
  reference::write_pages(shape, expected_keys, floats(key), positions, page_table);
  reference::write_pages(shape, expected_values, floats(value), positions, page_table);
  return std::max(reference::relative_error(floats(keys.values()), expected_keys),
                  reference::relative_error(floats(values.values()), expected_values));
}

template <class T>
double sample_top_k_error(const Gpu& gpu, const kiln::Kernel& kernel, int max_top_k) {
  constexpr int vocabulary = 128256;
  const reference::Sampling sampling{.top_k = max_top_k - 5, .top_p = 0.9f, .temperature = 0.8f};
  const std::vector<float> uniforms = {0.0f, 0.25f, 0.5f, 0.999f};
  const auto logits = random_values<T>(uniforms.size() * vocabulary, 2.0f);
  const DeviceArray device_logits(gpu, logits);
  const DeviceArray device_uniforms(gpu, uniforms);
  const DeviceArray tokens(gpu, std::vector<int>(uniforms.size(), -1));
  const DeviceArray probabilities(gpu, std::vector<float>(uniforms.size()));
  launch(kernel, {.grid = {static_cast<std::uint32_t>(uniforms.size())}, .block = {256}},
         tokens.get(), probabilities.get(), device_logits.get(), device_uniforms.get(), vocabulary,
         sampling.top_k, sampling.top_p, sampling.temperature);
  const auto drawn = tokens.values();
  const auto drawn_probabilities = probabilities.values();
  const auto rows = floats(logits);
  double error = 0;
  for (std::size_t i = 0; i < uniforms.size(); ++i) {
    const auto distribution = reference::top_k_distribution(
        std::span(rows).subspan(i * vocabulary, vocabulary), sampling);
    error = std::max(error, reference::sampling_error(distribution, uniforms[i], drawn[i],
                                                      drawn_probabilities[i]));
  }
  return error;
}

/// Adds checks of kernels for one element type.
template <class T>
class Adder {
 public:
  explicit Adder(std::map<std::string, GpuCheck>& checks) : checks_(checks) {}

  /// `error` is one of the functions above; `sizes` are what the kernel takes after the element type.
  template <class Error, class... Sizes>
  void operator()(std::string_view name, double tolerance, Error error, Sizes... sizes) {
    const std::vector<int> list = {sizes...};
    checks_.emplace(fmt::format("{}<{}, {}>", name, Element<T>::name, fmt::join(list, ", ")),
                    GpuCheck{tolerance, [=](const Gpu& gpu, const kiln::Kernel& kernel) {
                               return error(gpu, kernel, sizes...);
                             }});
  }

 private:
  std::map<std::string, GpuCheck>& checks_;
};

template <class T>
void add_block_checks(Adder<T>& add) {
  constexpr double rounding = Element<T>::tolerance;
  for (const int hidden : {4096, 8192}) {
    add("rms_norm", rounding, rms_norm_error<T>, hidden);
    add("add_rms_norm", rounding, add_rms_norm_error<T>, hidden);
  }
  for (const int head_dim : {64, 128}) add("rotary_embedding", rounding, rotary_error<T>, head_dim);
  for (const int intermediate : {11008, 14336}) {
    add("silu_and_mul", rounding, silu_and_mul_error<T>, intermediate);
  }
  add("int4_gemv", rounding, int4_gemv_error<T>, 4096, 64);
  add("int4_gemv", rounding, int4_gemv_error<T>, 4096, 128);
  add("int4_gemv", rounding, int4_gemv_error<T>, 14336, 128);
  add("paged_attention", rounding, paged_attention_error<T>, 64, 16, 4);
  add("paged_attention", rounding, paged_attention_error<T>, 128, 16, 4);
  add("paged_attention", rounding, paged_attention_error<T>, 128, 16, 8);
  for (const int tile : {64, 128}) add("gemm", rounding, gemm_error<T>, tile, tile);
  for (const int max_top_k : {32, 64}) {
    add("sample_top_k", probability_tolerance, sample_top_k_error<T>, max_top_k);
  }
}

/// What the decoder has beside the block: its own sizes, and what only copies, which is exact.
void add_decoder_checks(Adder<kiln::Half>& add) {
  using namespace shape;
  constexpr double rounding = Element<kiln::Half>::tolerance;
  add("embed", 0, embed_error<kiln::Half>, hidden);
  add("write_key_values", 0, write_key_values_error<kiln::Half>, head_dim, page_size);
  add("rms_norm", rounding, rms_norm_error<kiln::Half>, hidden);
  add("add_rms_norm", rounding, add_rms_norm_error<kiln::Half>, hidden);
  add("silu_and_mul", rounding, silu_and_mul_error<kiln::Half>, intermediate);
}

}  // namespace

std::map<std::string, GpuCheck> gpu_checks() {
  std::map<std::string, GpuCheck> checks;
  Adder<kiln::Half> half(checks);
  Adder<kiln::BFloat16> bfloat16(checks);
  add_block_checks(half);
  add_block_checks(bfloat16);
  add_decoder_checks(half);
  return checks;
}

}  // namespace demo
