#include "gpu_operations.h"

#include <utility>

#include "decoder_programs.h"
#include "decoder_shape.h"
#include "gpu_launch.h"
#include "reference.h"

namespace demo {

namespace {

using kiln::Half;

constexpr int gemm_tile = 64;
constexpr int silu_elements_per_block = 8 * 256;

std::map<std::string, kiln::Kernel, std::less<>> all_kernels(kiln::Runtime& runtime) {
  std::map<std::string, kiln::Kernel, std::less<>> kernels;
  for (auto& spec : decoder_programs()) {
    const auto program = kiln::Program::make(std::move(spec)).value();
    for (const std::string& expression : program.kernels()) {
      kernels.emplace(expression.substr(0, expression.find('<')),
                      runtime.kernel(program, expression).value());
    }
  }
  return kernels;
}

template <class T>
DeviceArray<T> zeros_for_each_position(const Gpu& gpu, int width = 1) {
  return {gpu, std::vector<T>(static_cast<std::size_t>(shape::max_positions) * width)};
}

}  // namespace

GpuOperations::GpuOperations(kiln::Runtime& runtime, Gpu gpu)
    : gpu_(std::move(gpu)),
      kernels_(all_kernels(runtime)),
      tokens_(zeros_for_each_position<int>(gpu_)),
      positions_(zeros_for_each_position<int>(gpu_)),
      lengths_(zeros_for_each_position<int>(gpu_)),
      page_table_(zeros_for_each_position<int>(gpu_, shape::pages)),
      angles_(gpu_, reference::rotary_angles(shape::max_positions, shape::head_dim)),
      uniforms_(zeros_for_each_position<float>(gpu_)),
      best_(zeros_for_each_position<int>(gpu_)),
      probabilities_(zeros_for_each_position<float>(gpu_)) {}

const kiln::Kernel& GpuOperations::kernel(std::string_view name) const {
  return kernels_.find(name)->second;
}

GpuOperations::Tensor GpuOperations::upload(const std::vector<Half>& values) const {
  return std::make_shared<const DeviceArray<Half>>(gpu_, values);
}

GpuOperations::Tensor GpuOperations::zeros(std::size_t count) const {
  return upload(std::vector<Half>(count));
}

std::vector<float> GpuOperations::read_logits(const Tensor& logits) const {
  const auto values = logits->first(std::size_t{rows_} * shape::vocabulary);
  return {values.begin(), values.end()};
}

void GpuOperations::begin(const Batch& batch) {
  rows_ = static_cast<std::uint32_t>(batch.tokens.size());
  tokens_.assign(batch.tokens);
  positions_.assign(batch.positions);
  lengths_.assign(batch.lengths);
  page_table_.assign(batch.page_table);
}

void GpuOperations::embed(const Tensor& out, const Tensor& table) const {
  launch(kernel("embed"), {.grid = {rows_}, .block = {64}}, out->get(), table->get(),
         tokens_.get());
}

void GpuOperations::rms_norm(const Tensor& out, const Tensor& x, const Tensor& weight) const {
  launch(kernel("rms_norm"), {.grid = {rows_}, .block = {256}}, out->get(), x->get(), weight->get(),
         shape::epsilon);
}

void GpuOperations::add_rms_norm(const Tensor& out, const Tensor& residual, const Tensor& x,
                                 const Tensor& weight) const {
  launch(kernel("add_rms_norm"), {.grid = {rows_}, .block = {256}}, out->get(), residual->get(),
         x->get(), weight->get(), shape::epsilon);
}

void GpuOperations::project(const Tensor& out, const Tensor& x, const Tensor& weight, int outputs,
                            int inputs) const {
  const int rows = static_cast<int>(rows_);
  launch(kernel("gemm"),
         {.grid = {ceil_div(outputs, gemm_tile), ceil_div(rows, gemm_tile)}, .block = {256}},
         out->get(), x->get(), weight->get(), rows, outputs, inputs);
}

void GpuOperations::rotate(const Tensor& query, const Tensor& key) const {
  launch(kernel("rotary_embedding"), {.grid = {rows_}, .block = {128}}, query->get(), key->get(),
         angles_.get(), positions_.get(), shape::query_heads, shape::kv_heads, shape::query_width,
         shape::kv_width);
}

void GpuOperations::write_key_values(const Tensor& keys, const Tensor& values, const Tensor& key,
                                     const Tensor& value) const {
  launch(kernel("write_key_values"), {.grid = {rows_}, .block = {64}}, keys->get(), values->get(),
         key->get(), value->get(), positions_.get(), page_table_.get(), shape::kv_heads,
         shape::pages);
}

void GpuOperations::attend(const Tensor& out, const Tensor& query, const Tensor& keys,
                           const Tensor& values) const {
  launch(kernel("paged_attention"), {.grid = {shape::kv_heads, rows_}, .block = {128}}, out->get(),
         query->get(), keys->get(), values->get(), page_table_.get(), lengths_.get(), shape::pages,
         shape::attention_scale);
}

void GpuOperations::silu_and_mul(const Tensor& out, const Tensor& gate_and_up) const {
  const std::uint32_t blocks = ceil_div(shape::intermediate, silu_elements_per_block);
  launch(kernel("silu_and_mul"), {.grid = {blocks, rows_}, .block = {256}}, out->get(),
         gate_and_up->get());
}

std::vector<int> GpuOperations::best(const Tensor& logits) const {
  constexpr int top_k = 1;
  constexpr float any_mass = 1.0f;
  constexpr float temperature = 1.0f;
  launch(kernel("sample_top_k"), {.grid = {rows_}, .block = {256}}, best_.get(),
         probabilities_.get(), logits->get(), uniforms_.get(), shape::vocabulary, top_k, any_mass,
         temperature);
  return best_.first(rows_);
}

}  // namespace demo
