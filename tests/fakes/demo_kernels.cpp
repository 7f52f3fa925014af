// What the demo's kernels do, written anew for the host from what their files promise: layouts, arguments, what a
// grid covers. Sums are of floats, as on a GPU. So a program that launches them can be tested without one; the
// kernels' own code cannot.

#include <cxxabi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "fake_kernels.h"
#include "kiln/numbers.h"

namespace fake {

namespace {

/// Of a kernel's expression: `gemm<__half, 64, 64>`.
struct Instance {
  std::string name;
  std::string element;
  std::vector<std::size_t> sizes;
};

struct Grid {
  std::size_t x;
  std::size_t y;
};

std::optional<Instance> instance_of(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  static const std::regex pattern(R"(void (\w+)<(\w+)((?:, \d+)*)>\(.*)");
  std::cmatch found;
  if (status != 0 || !std::regex_match(text.get(), found, pattern)) return std::nullopt;
  Instance instance{found[1], found[2], {}};
  static const std::regex number(R"(\d+)");
  for (std::cregex_iterator at(found[3].first, found[3].second, number), last; at != last; ++at)
    instance.sizes.push_back(std::stoul(at->str()));
  return instance;
}

using Sizes = std::vector<std::size_t>;

template <class T>
void embed(Grid grid, const Sizes& sizes, T* out, const T* table, const int* tokens) {
  const std::size_t hidden = sizes[0];
  for (std::size_t row = 0; row < grid.x; ++row) {
    const T* embedding = table + static_cast<std::size_t>(tokens[row]) * hidden;
    std::copy(embedding, embedding + hidden, out + row * hidden);
  }
}

template <class T>
void rms_norm(Grid grid, const Sizes& sizes, T* out, const T* x, const T* weight, float epsilon) {
  const std::size_t hidden = sizes[0];
  for (std::size_t row = 0; row < grid.x; ++row, out += hidden, x += hidden) {
    float squares = 0;
    for (std::size_t i = 0; i < hidden; ++i) squares += float(x[i]) * float(x[i]);
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(hidden) + epsilon);
    for (std::size_t i = 0; i < hidden; ++i) out[i] = T(float(weight[i]) * (float(x[i]) * scale));
  }
}

template <class T>
void add_rms_norm(Grid grid, const Sizes& sizes, T* out, T* residual, const T* x, const T* weight,
                  float epsilon) {
  for (std::size_t i = 0; i < grid.x * sizes[0]; ++i)
    residual[i] = T(float(residual[i]) + float(x[i]));
  rms_norm<T>(grid, sizes, out, residual, weight, epsilon);
}

template <class T>
void gemm(Grid grid, const Sizes& sizes, T* c, const T* a, const T* b, int m, int n, int k) {
  const std::size_t rows = std::min<std::size_t>(grid.y * sizes[0], m);
  const std::size_t columns = std::min<std::size_t>(grid.x * sizes[1], n);
  const std::size_t depth = k;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<float> left(a + row * depth, a + (row + 1) * depth);
    for (std::size_t column = 0; column < columns; ++column) {
      float sum = 0;
      for (std::size_t i = 0; i < depth; ++i) sum += left[i] * float(b[column * depth + i]);
      c[row * n + column] = T(sum);
    }
  }
}

template <class T>
void turn(T* head, std::size_t head_dim, const float* angles) {
  const std::size_t half = head_dim / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const float low = float(head[i]);
    const float high = float(head[half + i]);
    head[i] = T(low * angles[i] - high * angles[half + i]);
    head[half + i] = T(high * angles[i] + low * angles[half + i]);
  }
}

template <class T>
void rotary_embedding(Grid grid, const Sizes& sizes, T* query, T* key, const float* angles,
                      const int* positions, int query_heads, int key_heads, int query_stride,
                      int key_stride) {
  const std::size_t head_dim = sizes[0];
  for (std::size_t token = 0; token < grid.x; ++token) {
    const float* row = angles + static_cast<std::size_t>(positions[token]) * head_dim;
    for (int head = 0; head < query_heads; ++head)
      turn(query + token * query_stride + head * head_dim, head_dim, row);
    for (int head = 0; head < key_heads; ++head)
      turn(key + token * key_stride + head * head_dim, head_dim, row);
  }
}

template <class T>
void write_key_values(Grid grid, const Sizes& sizes, T* keys, T* values, const T* key,
                      const T* value, const int* positions, const int* page_table, int kv_heads,
                      int max_pages) {
  const std::size_t head_dim = sizes[0];
  const std::size_t page_size = sizes[1];
  for (std::size_t token = 0; token < grid.x; ++token) {
    const std::size_t position = positions[token];
    const std::size_t page = page_table[token * max_pages + position / page_size];
    for (int head = 0; head < kv_heads; ++head, key += head_dim, value += head_dim) {
      const std::size_t to =
          ((page * kv_heads + head) * page_size + position % page_size) * head_dim;
      std::copy(key, key + head_dim, keys + to);
      std::copy(value, value + head_dim, values + to);
    }
  }
}

template <class T>
void paged_attention(Grid grid, const Sizes& sizes, T* out, const T* query, const T* keys,
                     const T* values, const int* page_table, const int* lengths, int max_pages,
                     float scale) {
  const auto [head_dim, page_size, queries] = std::tuple(sizes[0], sizes[1], sizes[2]);
  const std::size_t heads = grid.x * queries;
  for (std::size_t row = 0; row < grid.y * heads; ++row, out += head_dim, query += head_dim) {
    const std::size_t sequence = row / heads;
    std::vector<float> sums(head_dim);
    float total = 0;
    for (int token = 0; token < lengths[sequence]; ++token) {
      const std::size_t page = page_table[sequence * max_pages + token / page_size];
      const std::size_t at =
          ((page * grid.x + row % heads / queries) * page_size + token % page_size) * head_dim;
      float score = 0;
      for (std::size_t i = 0; i < head_dim; ++i) score += float(query[i]) * float(keys[at + i]);
      const float weight = std::exp(score * scale);
      total += weight;
      for (std::size_t i = 0; i < head_dim; ++i) sums[i] += weight * float(values[at + i]);
    }
    for (std::size_t i = 0; i < head_dim; ++i) out[i] = T(total > 0 ? sums[i] / total : 0.0f);
  }
}

template <class T>
void silu_and_mul(Grid grid, const Sizes& sizes, T* out, const T* gate_and_up) {
  const std::size_t width = sizes[0];
  const std::size_t covered = std::min(width, grid.x * 256 * 8);
  for (std::size_t row = 0; row < grid.y; ++row) {
    const T* gate = gate_and_up + row * 2 * width;
    for (std::size_t i = 0; i < covered; ++i)
      out[row * width + i] =
          T(float(gate[i]) / (1.0f + std::exp(-float(gate[i]))) * float(gate[width + i]));
  }
}

template <class T>
void int4_gemv(Grid grid, const Sizes& sizes, T* y, const std::uint32_t* weights, const T* scales,
               const T* x, int out_features) {
  const std::size_t inputs = sizes[0];
  const std::size_t rows = std::min<std::size_t>(grid.x * 16, out_features);
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t at = row * inputs + i;
      const int weight = static_cast<int>(weights[at / 8] >> at % 8 * 4 & 15) - 8;
      sum += float(scales[at / sizes[1]]) * static_cast<float>(weight) * float(x[i]);
    }
    y[row] = T(sum);
  }
}

template <class T>
void sample_top_k(Grid grid, const Sizes&, int* tokens, float* probabilities, const T* logits,
                  const float* uniforms, int vocabulary, int top_k, float top_p,
                  float temperature) {
  for (std::size_t sequence = 0; sequence < grid.x; ++sequence, logits += vocabulary) {
    std::vector<int> order(vocabulary);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{},
                             [&](int token) { return float(logits[token]); });
    // The weight of each token and of all before it, as far as they may be drawn.
    std::vector<std::pair<float, float>> weights;
    float total = 0;
    for (int rank = 0; rank < top_k; ++rank) {
      weights.emplace_back(
          std::exp((float(logits[order[rank]]) - float(logits[order[0]])) / temperature), total);
      total += weights.back().first;
    }
    std::erase_if(weights, [&](const auto& weight) { return weight.second >= top_p * total; });
    const float mass = weights.back().first + weights.back().second;
    std::size_t chosen = 0;
    while (chosen + 1 < weights.size() && weights[chosen + 1].second <= uniforms[sequence] * mass)
      ++chosen;
    tokens[sequence] = order[chosen];
    probabilities[sequence] = weights[chosen].first / mass;
  }
}

/// A kernel, and the threads of its blocks.
struct Runner {
  unsigned threads;
  std::function<void(Grid, const Sizes&, void**)> run;
};

template <class... Args>
Runner runner(unsigned threads, void (*kernel)(Grid, const Sizes&, Args...)) {
  return {threads, [kernel](Grid grid, const Sizes& sizes, void** params) {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
              kernel(grid, sizes, *static_cast<Args*>(params[I])...);
            }
            (std::index_sequence_for<Args...>());
          }};
}

template <class T>
std::map<std::string, Runner> runners() {
  return {{"embed", runner(64, embed<T>)},
          {"rms_norm", runner(256, rms_norm<T>)},
          {"add_rms_norm", runner(256, add_rms_norm<T>)},
          {"gemm", runner(256, gemm<T>)},
          {"rotary_embedding", runner(128, rotary_embedding<T>)},
          {"write_key_values", runner(64, write_key_values<T>)},
          {"paged_attention", runner(128, paged_attention<T>)},
          {"silu_and_mul", runner(256, silu_and_mul<T>)},
          {"int4_gemv", runner(256, int4_gemv<T>)},
          {"sample_top_k", runner(256, sample_top_k<T>)}};
}

// Not as a kernel that crashes: whoever tries a program of their own with this driver is told why it ends.
CUresult foreign(const char* symbol) {
  std::fprintf(stderr,
               "this driver has no GPU and computes the demo's own kernels, launched as the demo "
               "does; %s is none of them\n",
               symbol);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUresult run_kernel(const char* symbol, const CUlaunchConfig& config, void** params) {
  static const std::map<std::string, std::map<std::string, Runner>> all{
      {"__half", runners<kiln::Half>()}, {"__nv_bfloat16", runners<kiln::BFloat16>()}};
  const auto instance = instance_of(symbol);
  if (!instance || !all.contains(instance->element)) return foreign(symbol);
  const auto& kernels = all.at(instance->element);
  const auto found = kernels.find(instance->name);
  const bool expected = found != kernels.end() && config.blockDimX == found->second.threads &&
                        config.blockDimY == 1 && config.gridDimZ == 1;
  if (!expected) return foreign(symbol);
  found->second.run({config.gridDimX, config.gridDimY}, instance->sizes, params);
  return CUDA_SUCCESS;
}

}  // namespace fake
