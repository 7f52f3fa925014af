#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// What the demo's kernels compute, in plain loops on the CPU. Inputs hold the values that the
/// kernels read (rounded to their element type already); sums are taken in double.
namespace demo::reference {

/// The largest difference, relative to the largest number expected; NaN where one was found.
[[nodiscard]] double relative_error(std::span<const float> found, std::span<const float> expected);

/// The rows of `table`, of `hidden` elements each, that belong to the tokens.
[[nodiscard]] std::vector<float> embed(std::span<const float> table, std::span<const int> tokens,
                                       int hidden);

/// Each row of `hidden` elements divided by its root mean square, times `weight`.
[[nodiscard]] std::vector<float> rms_norm(std::span<const float> x, std::span<const float> weight,
                                          float epsilon);

/// For each position head_dim / 2 cosines, then as many sines. The first pair of elements turns by one
/// radian from token to token, the last by nearly 1 / 10,000 of that.
[[nodiscard]] std::vector<float> rotary_angles(int positions, int head_dim);

/// Turns every head of every token by the angles of its position. `angles` has, for each position,
/// head_dim / 2 cosines and as many sines.
[[nodiscard]] std::vector<float> rotary_embedding(std::span<const float> heads,
                                                  std::span<const float> angles,
                                                  std::span<const int> positions,
                                                  int heads_per_token, int head_dim);

/// silu(gate) * up, where each row holds `intermediate` gates, then as many ups.
[[nodiscard]] std::vector<float> silu_and_mul(std::span<const float> gate_and_up, int intermediate);

/// One output per row of packed weights; every `group_size` of them share a scale.
[[nodiscard]] std::vector<float> int4_gemv(std::span<const std::uint32_t> weights,
                                           std::span<const float> scales, std::span<const float> x,
                                           int group_size);

/// c = a b^T for a of [m][k] and b of [n][k].
[[nodiscard]] std::vector<float> gemm(std::span<const float> a, std::span<const float> b, int k);

struct CacheShape {
  int kv_heads;
  int head_dim;
  int page_size;
};

/// Puts each token's row of key heads (or value heads) where paged_attention() reads them; each row of
/// the page table is that of the token's sequence.
void write_pages(const CacheShape& shape, std::span<float> cache, std::span<const float> rows,
                 std::span<const int> positions, std::span<const int> page_table);

struct AttentionShape {
  int sequences;
  int kv_heads;
  int queries_per_kv_head;
  int head_dim;
  int page_size;
  int max_pages;  ///< Columns of the page table.
};

/// Attention of one query token per sequence; the layouts are those of paged_attention.cu.
[[nodiscard]] std::vector<float> paged_attention(const AttentionShape& shape,
                                                 std::span<const float> query,
                                                 std::span<const float> keys,
                                                 std::span<const float> values,
                                                 std::span<const int> page_table,
                                                 std::span<const int> lengths, float scale);

struct Sampling {
  int top_k;
  float top_p;
  float temperature;
};

/// A token that may be drawn, and its share of [0, 1).
struct Candidate {
  int token;
  double begin;
  double end;
};

/// The distribution that a token is drawn from, most probable first.
[[nodiscard]] std::vector<Candidate> top_k_distribution(std::span<const float> logits,
                                                        const Sampling& sampling);

/// How wrong it is to draw `token` with that probability for that uniform number: how far the
/// number is outside the token's share, or the error of the probability if that is larger; 1 for a
/// token that cannot be drawn.
[[nodiscard]] double sampling_error(std::span<const Candidate> distribution, float uniform,
                                    int token, float probability);

}  // namespace demo::reference
