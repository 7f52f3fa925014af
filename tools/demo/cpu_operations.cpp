#include "cpu_operations.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "decoder_shape.h"
#include "reference.h"

namespace demo {

namespace {

std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = static_cast<float>(kiln::Half(value));
  return values;
}

constexpr reference::CacheShape cache_shape{
    .kv_heads = shape::kv_heads, .head_dim = shape::head_dim, .page_size = shape::page_size};

}  // namespace

CpuOperations::CpuOperations()
    : angles_(reference::rotary_angles(shape::max_positions, shape::head_dim)) {}

std::vector<float> CpuOperations::upload(const std::vector<kiln::Half>& values) const {
  return {values.begin(), values.end()};
}

void CpuOperations::begin(Batch batch) { batch_ = std::move(batch); }

void CpuOperations::embed(Tensor& out, const Tensor& table) const {
  out = reference::embed(table, batch_.tokens, shape::hidden);
}

void CpuOperations::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight) const {
  out = rounded(reference::rms_norm(x, weight, shape::epsilon));
}

void CpuOperations::add_rms_norm(Tensor& out, Tensor& residual, const Tensor& x,
                                 const Tensor& weight) const {
  for (std::size_t i = 0; i < x.size(); ++i) residual[i] += x[i];
  residual = rounded(std::move(residual));
  rms_norm(out, residual, weight);
}

void CpuOperations::project(Tensor& out, const Tensor& x, const Tensor& weight, int,
                            int inputs) const {
  out = rounded(reference::gemm(x, weight, inputs));
}

void CpuOperations::rotate(Tensor& query, Tensor& key) const {
  query = rounded(reference::rotary_embedding(query, angles_, batch_.positions, shape::query_heads,
                                              shape::head_dim));
  key = rounded(reference::rotary_embedding(key, angles_, batch_.positions, shape::kv_heads,
                                            shape::head_dim));
}

void CpuOperations::write_key_values(Tensor& keys, Tensor& values, const Tensor& key,
                                     const Tensor& value) const {
  reference::write_pages(cache_shape, keys, key, batch_.positions, batch_.page_table);
  reference::write_pages(cache_shape, values, value, batch_.positions, batch_.page_table);
}

void CpuOperations::attend(Tensor& out, const Tensor& query, const Tensor& keys,
                           const Tensor& values) const {
  const reference::AttentionShape attention{.sequences = static_cast<int>(batch_.tokens.size()),
                                            .kv_heads = shape::kv_heads,
                                            .queries_per_kv_head = shape::queries_per_kv_head,
                                            .head_dim = shape::head_dim,
                                            .page_size = shape::page_size,
                                            .max_pages = shape::pages};
  out = rounded(reference::paged_attention(attention, query, keys, values, batch_.page_table,
                                           batch_.lengths, shape::attention_scale));
}

void CpuOperations::silu_and_mul(Tensor& out, const Tensor& gate_and_up) const {
  out = rounded(reference::silu_and_mul(gate_and_up, shape::intermediate));
}

std::vector<int> CpuOperations::best(const Tensor& logits) const {
  std::vector<int> tokens;
  for (std::size_t row = 0; row < logits.size(); row += shape::vocabulary) {
    const auto found = std::span(logits).subspan(row, shape::vocabulary);
    tokens.push_back(static_cast<int>(std::ranges::max_element(found) - found.begin()));
  }
  return tokens;
}

}  // namespace demo
