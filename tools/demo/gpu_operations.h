#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu.h"
#include "kiln/numbers.h"
#include "kiln/runtime.h"
#include "sequence.h"

namespace demo {

/// The decoder's operations as launches of kernels that kiln serves, one after the other in the default
/// stream. What each does stands in cpu_operations.h. Faults are exceptions: tl::bad_expected_access of
/// kiln's error where a kernel is not served, std::runtime_error of launches and the driver.
class GpuOperations {
 public:
  /// In device memory, shared by copies. Has room for more rows than most batches have.
  using Tensor = std::shared_ptr<const DeviceArray<kiln::Half>>;

  /// Asks for every kernel of decoder_programs(). `runtime` must outlive the operations.
  GpuOperations(kiln::Runtime& runtime, Gpu gpu);

  [[nodiscard]] Tensor upload(const std::vector<kiln::Half>& values) const;
  [[nodiscard]] Tensor zeros(std::size_t count) const;
  [[nodiscard]] std::vector<float> read_logits(const Tensor& logits) const;

  void begin(const Batch& batch);
  void embed(const Tensor& out, const Tensor& table) const;
  void rms_norm(const Tensor& out, const Tensor& x, const Tensor& weight) const;
  void add_rms_norm(const Tensor& out, const Tensor& residual, const Tensor& x,
                    const Tensor& weight) const;
  void project(const Tensor& out, const Tensor& x, const Tensor& weight, int outputs,
               int inputs) const;
  void rotate(const Tensor& query, const Tensor& key) const;
  void write_key_values(const Tensor& keys, const Tensor& values, const Tensor& key,
                        const Tensor& value) const;
  void attend(const Tensor& out, const Tensor& query, const Tensor& keys,
              const Tensor& values) const;
  void silu_and_mul(const Tensor& out, const Tensor& gate_and_up) const;
  [[nodiscard]] std::vector<int> best(const Tensor& logits) const;

 private:
  [[nodiscard]] const kiln::Kernel& kernel(std::string_view name) const;

  Gpu gpu_;
  /// By their names without the template arguments.
  std::map<std::string, kiln::Kernel, std::less<>> kernels_;
  std::uint32_t rows_ = 0;  ///< Of the batch.
  DeviceArray<int> tokens_, positions_, lengths_, page_table_;
  DeviceArray<float> angles_;
  DeviceArray<float> uniforms_;  ///< Zeros: the sampler is to take the most probable token.
  DeviceArray<int> best_;
  DeviceArray<float> probabilities_;
};

}  // namespace demo
