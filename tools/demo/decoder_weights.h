#pragma once

#include <cstdint>
#include <vector>

#include "kiln/numbers.h"

namespace demo {

/// Each matrix is [output][input], as gemm.cu reads it.
struct LayerWeights {
  std::vector<kiln::Half> attention_norm;
  std::vector<kiln::Half> query;
  std::vector<kiln::Half> key;
  std::vector<kiln::Half> value;
  std::vector<kiln::Half> output;
  std::vector<kiln::Half> feed_forward_norm;
  std::vector<kiln::Half> gate_and_up;  ///< Rows of the gate, then as many of up.
  std::vector<kiln::Half> down;
};

struct DecoderWeights {
  std::vector<kiln::Half> embedding;  ///< [vocabulary][hidden]
  std::vector<LayerWeights> layers;
  std::vector<kiln::Half> final_norm;
  std::vector<kiln::Half> logits;
};

/// Made up from the seed: the same numbers on every machine, of a size that keeps activations near one.
[[nodiscard]] DecoderWeights make_weights(std::uint64_t seed);

}  // namespace demo
