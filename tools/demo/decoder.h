#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decoder_shape.h"
#include "decoder_weights.h"
#include "sequence.h"

namespace demo {

/// What the decoder says after each token of a step.
struct StepResult {
  std::vector<float> logits;  ///< [token][vocabulary]
  std::vector<int> best;      ///< For each token the most probable next one.
};

/// A decoder of one sequence, from token ids to logits. The flow is here; what is computed, and in whose
/// memory, is the operations': CpuOperations or GpuOperations. An operation takes its outputs first and
/// works on all rows of the batch that was begun.
template <class Operations>
class Decoder {
 public:
  using Tensor = typename Operations::Tensor;

  /// `operations` must outlive the decoder.
  Decoder(Operations& operations, const DecoderWeights& weights)
      : operations_(operations),
        embedding_(operations.upload(weights.embedding)),
        final_norm_(operations.upload(weights.final_norm)),
        logits_(operations.upload(weights.logits)),
        activations_(operations) {
    for (const LayerWeights& layer : weights.layers) layers_.emplace_back(operations, layer);
  }

  /// Appends these tokens to the sequence. REQUIRES: ids of the vocabulary, and at most
  /// shape::max_positions tokens in all.
  [[nodiscard]] StepResult step(std::span<const int> tokens) {
    operations_.begin(sequence_.append(tokens));
    Activations& a = activations_;
    operations_.embed(a.residual, embedding_);
    operations_.rms_norm(a.normal, a.residual, layers_.front().attention_norm);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      attend(layers_[i]);
      operations_.add_rms_norm(a.normal, a.residual, a.added, layers_[i].feed_forward_norm);
      feed_forward(layers_[i]);
      const bool last = i + 1 == layers_.size();
      operations_.add_rms_norm(a.normal, a.residual, a.added,
                               last ? final_norm_ : layers_[i + 1].attention_norm);
    }
    operations_.project(a.logits, a.normal, logits_, shape::vocabulary, shape::hidden);
    return {operations_.read_logits(a.logits), operations_.best(a.logits)};
  }

 private:
  struct Layer {
    Layer(Operations& operations, const LayerWeights& weights)
        : attention_norm(operations.upload(weights.attention_norm)),
          query(operations.upload(weights.query)),
          key(operations.upload(weights.key)),
          value(operations.upload(weights.value)),
          output(operations.upload(weights.output)),
          feed_forward_norm(operations.upload(weights.feed_forward_norm)),
          gate_and_up(operations.upload(weights.gate_and_up)),
          down(operations.upload(weights.down)),
          keys(operations.zeros(shape::max_positions * shape::kv_width)),
          values(operations.zeros(shape::max_positions * shape::kv_width)) {}

    Tensor attention_norm, query, key, value, output;
    Tensor feed_forward_norm, gate_and_up, down;
    Tensor keys, values;  ///< The cache, in pages.
  };

  /// For as many rows as a step can have.
  struct Activations {
    explicit Activations(Operations& operations)
        : residual(rows_of(operations, shape::hidden)),
          normal(rows_of(operations, shape::hidden)),
          added(rows_of(operations, shape::hidden)),
          query(rows_of(operations, shape::query_width)),
          key(rows_of(operations, shape::kv_width)),
          value(rows_of(operations, shape::kv_width)),
          attended(rows_of(operations, shape::query_width)),
          gate_and_up(rows_of(operations, 2 * shape::intermediate)),
          gated(rows_of(operations, shape::intermediate)),
          logits(rows_of(operations, shape::vocabulary)) {}

    static Tensor rows_of(Operations& operations, int width) {
      return operations.zeros(static_cast<std::size_t>(shape::max_positions) * width);
    }

    Tensor residual;
    Tensor normal;  ///< The residual, normalised.
    Tensor added;   ///< What goes to the residual next.
    Tensor query, key, value, attended;
    Tensor gate_and_up, gated;
    Tensor logits;
  };

  void attend(Layer& layer) {
    Activations& a = activations_;
    operations_.project(a.query, a.normal, layer.query, shape::query_width, shape::hidden);
    operations_.project(a.key, a.normal, layer.key, shape::kv_width, shape::hidden);
    operations_.project(a.value, a.normal, layer.value, shape::kv_width, shape::hidden);
    operations_.rotate(a.query, a.key);
    operations_.write_key_values(layer.keys, layer.values, a.key, a.value);
    operations_.attend(a.attended, a.query, layer.keys, layer.values);
    operations_.project(a.added, a.attended, layer.output, shape::hidden, shape::query_width);
  }

  void feed_forward(Layer& layer) {
    Activations& a = activations_;
    operations_.project(a.gate_and_up, a.normal, layer.gate_and_up, 2 * shape::intermediate,
                        shape::hidden);
    operations_.silu_and_mul(a.gated, a.gate_and_up);
    operations_.project(a.added, a.gated, layer.down, shape::hidden, shape::intermediate);
  }

  Operations& operations_;
  Tensor embedding_, final_norm_, logits_;
  std::vector<Layer> layers_;
  Activations activations_;
  Sequence sequence_;
};

}  // namespace demo
