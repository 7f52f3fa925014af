#pragma once

#include <cstddef>
#include <vector>

#include "kiln/numbers.h"
#include "sequence.h"

namespace demo {

/// The decoder's operations in plain loops: those of reference.h, each output rounded to the half that
/// the kernels store. The reference of GpuOperations.
class CpuOperations {
 public:
  /// Values of halves. What is computed has as many rows as the batch.
  using Tensor = std::vector<float>;

  CpuOperations();

  [[nodiscard]] Tensor upload(const std::vector<kiln::Half>& values) const;
  [[nodiscard]] Tensor zeros(std::size_t count) const { return Tensor(count); }
  [[nodiscard]] std::vector<float> read_logits(const Tensor& logits) const { return logits; }

  void begin(Batch batch);
  void embed(Tensor& out, const Tensor& table) const;
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight) const;
  /// Adds x to the residual, and normalises that.
  void add_rms_norm(Tensor& out, Tensor& residual, const Tensor& x, const Tensor& weight) const;
  /// out = x weight^T, rows of `outputs` from rows of `inputs`.
  void project(Tensor& out, const Tensor& x, const Tensor& weight, int outputs, int inputs) const;
  /// Query and key heads, in place.
  void rotate(Tensor& query, Tensor& key) const;
  void write_key_values(Tensor& keys, Tensor& values, const Tensor& key, const Tensor& value) const;
  void attend(Tensor& out, const Tensor& query, const Tensor& keys, const Tensor& values) const;
  void silu_and_mul(Tensor& out, const Tensor& gate_and_up) const;
  [[nodiscard]] std::vector<int> best(const Tensor& logits) const;

 private:
  Batch batch_;
  std::vector<float> angles_;
};

}  // namespace demo
