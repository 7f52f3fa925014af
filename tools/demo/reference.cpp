#include "reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>

namespace demo::reference {

namespace {

double dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](double x, double y) { return x * y; });
}

constexpr int weights_per_word = 8;

int int4_weight(std::span<const std::uint32_t> words, std::size_t index) {
  const std::uint32_t word = words[index / weights_per_word];
  return static_cast<int>(word >> 4 * (index % weights_per_word) & 0xf) - 8;
}

// The tokens of one sequence that a head attends to, found through the page table.
class CachedTokens {
 public:
  CachedTokens(const AttentionShape& shape, std::span<const float> cache,
               std::span<const int> pages, int kv_head)
      : shape_(shape), cache_(cache), pages_(pages), kv_head_(kv_head) {}

  [[nodiscard]] std::span<const float> operator[](int token) const {
    const std::size_t page = static_cast<std::size_t>(pages_[token / shape_.page_size]);
    const std::size_t row = (page * shape_.kv_heads + kv_head_) * shape_.page_size +
                            static_cast<std::size_t>(token % shape_.page_size);
    return cache_.subspan(row * shape_.head_dim, shape_.head_dim);
  }

 private:
  const AttentionShape& shape_;
  std::span<const float> cache_;
  std::span<const int> pages_;
  std::size_t kv_head_;
};

void attend(std::span<const float> query, const CachedTokens& keys, const CachedTokens& values,
            int length, float scale, std::span<float> out) {
  std::vector<double> scores(length);
  double maximum = -std::numeric_limits<double>::infinity();
  for (int token = 0; token < length; ++token) {
    scores[token] = dot(query, keys[token]) * scale;
    maximum = std::max(maximum, scores[token]);
  }
  double total = 0;
  std::vector<double> sums(out.size());
  for (int token = 0; token < length; ++token) {
    const double weight = std::exp(scores[token] - maximum);
    total += weight;
    for (std::size_t i = 0; i < out.size(); ++i) sums[i] += weight * values[token][i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = length > 0 ? static_cast<float>(sums[i] / total) : 0.0f;
  }
}

}  // namespace

double relative_error(std::span<const float> found, std::span<const float> expected) {
  double error = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    if (std::isnan(difference)) return difference;
    error = std::max(error, difference);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return error / largest;
}

std::vector<float> embed(std::span<const float> table, std::span<const int> tokens, int hidden) {
  std::vector<float> out;
  for (const int token : tokens) {
    const auto row = table.subspan(static_cast<std::size_t>(token) * hidden, hidden);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::vector<float> rms_norm(std::span<const float> x, std::span<const float> weight,
                            float epsilon) {
  const std::size_t hidden = weight.size();
  std::vector<float> out(x.size());
  for (std::size_t row = 0; row < x.size(); row += hidden) {
    const auto values = x.subspan(row, hidden);
    const double scale =
        1.0 / std::sqrt(dot(values, values) / static_cast<double>(hidden) + epsilon);
    for (std::size_t i = 0; i < hidden; ++i) {
      out[row + i] = static_cast<float>(values[i] * scale * weight[i]);
    }
  }
  return out;
}

std::vector<float> rotary_angles(int positions, int head_dim) {
  const int half = head_dim / 2;
  std::vector<float> angles;
  for (int position = 0; position < positions; ++position) {
    for (int i = 0; i < head_dim; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * (i % half) / head_dim);
      angles.push_back(static_cast<float>(i < half ? std::cos(angle) : std::sin(angle)));
    }
  }
  return angles;
}

std::vector<float> rotary_embedding(std::span<const float> heads, std::span<const float> angles,
                                    std::span<const int> positions, int heads_per_token,
                                    int head_dim) {
  const std::size_t half = head_dim / 2;
  std::vector<float> out(heads.size());
  for (std::size_t head = 0; head < heads.size() / head_dim; ++head) {
    const std::size_t position = positions[head / heads_per_token];
    const auto cosines = angles.subspan(position * head_dim, half);
    const auto sines = angles.subspan(position * head_dim + half, half);
    const std::size_t start = head * head_dim;
    for (std::size_t i = 0; i < half; ++i) {
      const double a = heads[start + i];
      const double b = heads[start + half + i];
      out[start + i] = static_cast<float>(a * cosines[i] - b * sines[i]);
      out[start + half + i] = static_cast<float>(b * cosines[i] + a * sines[i]);
    }
  }
  return out;
}

std::vector<float> silu_and_mul(std::span<const float> gate_and_up, int intermediate) {
  const std::size_t columns = intermediate;
  std::vector<float> out(gate_and_up.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t gate_at = i / columns * 2 * columns + i % columns;
    const double gate = gate_and_up[gate_at];
    out[i] = static_cast<float>(gate / (1.0 + std::exp(-gate)) * gate_and_up[gate_at + columns]);
  }
  return out;
}

std::vector<float> int4_gemv(std::span<const std::uint32_t> weights, std::span<const float> scales,
                             std::span<const float> x, int group_size) {
  std::vector<float> y(weights.size() * weights_per_word / x.size());
  for (std::size_t row = 0; row < y.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = row * x.size() + i;
      sum += static_cast<double>(scales[at / group_size]) * int4_weight(weights, at) * x[i];
    }
    y[row] = static_cast<float>(sum);
  }
  return y;
}

std::vector<float> gemm(std::span<const float> a, std::span<const float> b, int k) {
  const std::size_t depth = k;
  const std::size_t m = a.size() / depth;
  const std::size_t n = b.size() / depth;
  std::vector<float> c(m * n);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      c[row * n + column] =
          static_cast<float>(dot(a.subspan(row * depth, depth), b.subspan(column * depth, depth)));
    }
  }
  return c;
}

void write_pages(const CacheShape& shape, std::span<float> cache, std::span<const float> rows,
                 std::span<const int> positions, std::span<const int> page_table) {
  const std::size_t max_pages = page_table.size() / positions.size();
  const std::size_t head_dim = shape.head_dim;
  for (std::size_t token = 0; token < positions.size(); ++token) {
    const int position = positions[token];
    const std::size_t page = page_table[token * max_pages + position / shape.page_size];
    for (int head = 0; head < shape.kv_heads; ++head) {
      const auto row = rows.subspan((token * shape.kv_heads + head) * head_dim, head_dim);
      const std::size_t slot =
          (page * shape.kv_heads + head) * shape.page_size + position % shape.page_size;
      std::copy(row.begin(), row.end(), cache.subspan(slot * head_dim, head_dim).begin());
    }
  }
}

std::vector<float> paged_attention(const AttentionShape& shape, std::span<const float> query,
                                   std::span<const float> keys, std::span<const float> values,
                                   std::span<const int> page_table, std::span<const int> lengths,
                                   float scale) {
  const int heads = shape.kv_heads * shape.queries_per_kv_head;
  std::vector<float> out(query.size());
  for (int sequence = 0; sequence < shape.sequences; ++sequence) {
    const auto pages =
        page_table.subspan(static_cast<std::size_t>(sequence) * shape.max_pages, shape.max_pages);
    for (int head = 0; head < heads; ++head) {
      const int kv_head = head / shape.queries_per_kv_head;
      const std::size_t row = static_cast<std::size_t>(sequence * heads + head) * shape.head_dim;
      attend(query.subspan(row, shape.head_dim), CachedTokens(shape, keys, pages, kv_head),
             CachedTokens(shape, values, pages, kv_head), lengths[sequence], scale,
             std::span(out).subspan(row, shape.head_dim));
    }
  }
  return out;
}

std::vector<Candidate> top_k_distribution(std::span<const float> logits, const Sampling& sampling) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t kept = std::min<std::size_t>(sampling.top_k, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
      [&](int a, int b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  order.resize(kept);

  std::vector<Candidate> candidates;
  double total = 0;
  for (const int token : order) {
    const double scaled =
        (static_cast<double>(logits[token]) - logits[order[0]]) / sampling.temperature;
    const double begin = total;
    total += std::exp(scaled);
    candidates.push_back({token, begin, total});
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.begin >= static_cast<double>(sampling.top_p) * total;
  });
  const double mass = candidates.back().end;
  for (Candidate& candidate : candidates) {
    candidate.begin /= mass;
    candidate.end /= mass;
  }
  return candidates;
}

double sampling_error(std::span<const Candidate> distribution, float uniform, int token,
                      float probability) {
  const auto drawn =
      std::find_if(distribution.begin(), distribution.end(),
                   [&](const Candidate& candidate) { return candidate.token == token; });
  if (drawn == distribution.end()) return 1;
  const double outside = std::max({0.0, drawn->begin - uniform, uniform - drawn->end});
  return std::max(outside, std::abs(probability - (drawn->end - drawn->begin)));
}

}  // namespace demo::reference
