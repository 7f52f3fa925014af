// The decoder's flow on the CPU, against the same model computed another way: in double without any
// rounding on the way, for all tokens at once, with neither cache nor pages.

#include "decoder.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cpu_operations.h"
#include "decoder_text.h"
#include "generation.h"
#include "reference.h"

namespace demo {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

/// Long enough for several pages, the last of which is not full.
const std::vector<int>& sentence() {
  static const std::vector<int> tokens = [] {
    std::vector<int> made(2 * shape::page_size + 5);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<int>(i * 397 % shape::vocabulary);
    return made;
  }();
  return tokens;
}

Row product(const std::vector<kiln::Half>& matrix, const Row& x) {
  Row out(matrix.size() / x.size());
  for (std::size_t i = 0; i < matrix.size(); ++i)
    out[i / x.size()] += static_cast<float>(matrix[i]) * x[i % x.size()];
  return out;
}

Row normalised(const Row& x, const std::vector<kiln::Half>& weight) {
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  Row out(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] *= static_cast<float>(weight[i]) /
              std::sqrt(squares / static_cast<double>(x.size()) + shape::epsilon);
  }
  return out;
}

void add(Row& to, const Row& x) { std::ranges::transform(to, x, to.begin(), std::plus<>()); }

/// A head of a row, whose element i and the one half a head later are a complex number that the
/// position turns.
Row turned(const Row& row, int head, std::size_t position) {
  const std::size_t half = shape::head_dim / 2;
  const auto at = row.begin() + head * shape::head_dim;
  Row out(shape::head_dim);
  for (std::size_t i = 0; i < half; ++i) {
    const double frequency = std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
    const auto number = std::complex(at[i], at[i + half]) *
                        std::polar(1.0, static_cast<double>(position) * frequency);
    out[i] = number.real();
    out[i + half] = number.imag();
  }
  return out;
}

/// What the last of these tokens attends to: one head's sum of values.
Row attention_of_last(const Rows& queries, const Rows& keys, const Rows& values, int head) {
  const int kv_head = head / shape::queries_per_kv_head;
  const Row query = turned(queries.back(), head, queries.size() - 1);
  Row sum(shape::head_dim);
  double total = 0;
  for (std::size_t token = 0; token < queries.size(); ++token) {
    const Row key = turned(keys[token], kv_head, token);
    const double score = std::inner_product(query.begin(), query.end(), key.begin(), 0.0);
    const double weight = std::exp(score / std::sqrt(double{shape::head_dim}));
    total += weight;
    for (int i = 0; i < shape::head_dim; ++i)
      sum[i] += weight * values[token][kv_head * shape::head_dim + i];
  }
  for (double& value : sum) value /= total;
  return sum;
}

Rows attended(const LayerWeights& layer, const Rows& normal) {
  Rows queries, keys, values, out;
  for (const Row& row : normal) {
    queries.push_back(product(layer.query, row));
    keys.push_back(product(layer.key, row));
    values.push_back(product(layer.value, row));
    Row heads;
    for (int head = 0; head < shape::query_heads; ++head) {
      const Row found = attention_of_last(queries, keys, values, head);
      heads.insert(heads.end(), found.begin(), found.end());
    }
    out.push_back(product(layer.output, heads));
  }
  return out;
}

Row fed_forward(const LayerWeights& layer, const Row& normal) {
  const Row both = product(layer.gate_and_up, normal);
  Row gated(shape::intermediate);
  for (int i = 0; i < shape::intermediate; ++i)
    gated[i] = both[i] / (1 + std::exp(-both[i])) * both[shape::intermediate + i];
  return product(layer.down, gated);
}

/// The logits after each token.
std::vector<float> logits_without_cache(const DecoderWeights& weights,
                                        const std::vector<int>& tokens) {
  Rows residual;
  for (const int token : tokens) {
    const auto row =
        std::span(weights.embedding).subspan(std::size_t(token) * shape::hidden, shape::hidden);
    residual.emplace_back();
    for (const kiln::Half& value : row) residual.back().push_back(static_cast<float>(value));
  }
  for (const LayerWeights& layer : weights.layers) {
    Rows normal;
    for (const Row& row : residual) normal.push_back(normalised(row, layer.attention_norm));
    const Rows heads = attended(layer, normal);
    for (std::size_t i = 0; i < residual.size(); ++i) {
      add(residual[i], heads[i]);
      add(residual[i], fed_forward(layer, normalised(residual[i], layer.feed_forward_norm)));
    }
  }
  std::vector<float> logits;
  for (const Row& row : residual) {
    const Row found = product(weights.logits, normalised(row, weights.final_norm));
    logits.insert(logits.end(), found.begin(), found.end());
  }
  return logits;
}

/// By steps of so many tokens.
std::vector<float> logits_by_steps(const DecoderWeights& weights, const std::vector<int>& tokens,
                                   std::size_t step_size) {
  CpuOperations operations;
  Decoder decoder(operations, weights);
  std::vector<float> logits;
  for (std::size_t at = 0; at < tokens.size(); at += step_size) {
    const std::size_t count = std::min(step_size, tokens.size() - at);
    const auto result = decoder.step(std::span(tokens).subspan(at, count));
    logits.insert(logits.end(), result.logits.begin(), result.logits.end());
  }
  return logits;
}

Generation generated(std::uint64_t seed, const std::vector<int>& prompt, std::size_t count) {
  CpuOperations operations;
  const DecoderWeights weights = make_weights(seed);
  Decoder decoder(operations, weights);
  return generate(decoder, prompt, count);
}

TEST(Decoder, SaysWhatTheModelSaysWithoutCacheAndRounding) {
  const DecoderWeights weights = make_weights(3);
  const auto expected = logits_without_cache(weights, sentence());
  const auto found = logits_by_steps(weights, sentence(), sentence().size());
  ASSERT_EQ(found.size(), expected.size());
  const double error = reference::relative_error(found, expected);
  RecordProperty("error", std::to_string(error));
  // All that rounding to halves does. What kiln-decoder tolerates of a GPU is twice as much.
  EXPECT_LT(error, 0x1p-9);
  // Else nothing was rounded, and the bound above says nothing.
  EXPECT_GT(error, 0x1p-13);
}

TEST(Decoder, SaysTheSameInStepsOfAnySize) {
  const DecoderWeights weights = make_weights(4);
  const auto at_once = logits_by_steps(weights, sentence(), sentence().size());
  EXPECT_EQ(logits_by_steps(weights, sentence(), 1), at_once);
  EXPECT_EQ(logits_by_steps(weights, sentence(), 7), at_once);
  EXPECT_EQ(logits_by_steps(weights, sentence(), shape::page_size), at_once);
}

TEST(Decoder, FillsEveryPageAndNoneTwice) {
  Sequence sequence;
  const Batch batch = sequence.append(std::vector<int>(shape::max_positions));
  std::vector<int> pages(batch.page_table.begin(), batch.page_table.begin() + shape::pages);
  std::ranges::sort(pages);
  std::vector<int> all(shape::pages);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(pages, all);
  EXPECT_EQ(batch.positions.back(), shape::max_positions - 1);
  EXPECT_EQ(batch.lengths.back(), shape::max_positions);
}

TEST(Decoder, GoesByItsOwnTokensAndTheirHistory) {
  const Generation generation = generated(1, {5, 6, 7}, 4);
  ASSERT_EQ(generation.tokens.size(), 4U);
  std::vector<int> whole = generation.prompt;
  whole.insert(whole.end(), generation.tokens.begin(), generation.tokens.end() - 1);
  const Generation again = generated(1, whole, 1);
  EXPECT_EQ(again.tokens.back(), generation.tokens.back());
  EXPECT_NE(checksum(generated(1, {7, 6, 5}, 4)), checksum(generation));
}

TEST(Generation, IsFollowedByItself) {
  const Generation reference = generated(2, {9}, 3);
  const DecoderWeights weights = make_weights(2);
  CpuOperations operations;
  Decoder decoder(operations, weights);
  const Comparison same = compare(follow(decoder, reference), reference, 0);
  EXPECT_EQ(same.error, 0);
  EXPECT_EQ(same.other_tokens, 0);
}

TEST(Generation, IsWrongByALogitATokenOrNoNumber) {
  const Generation reference = generated(2, {9}, 2);
  Generation other = reference;
  other.steps[1].logits[7] += 0.5F;
  EXPECT_GT(compare(other, reference, 0.01).error, 0.1);
  other = reference;
  other.steps[0].logits[0] = std::nanf("");
  EXPECT_TRUE(std::isnan(compare(other, reference, 0.01).error));
  for (const int token : {-1, shape::vocabulary, (reference.steps[0].best[0] + 1)}) {
    other = reference;
    other.steps[0].best[0] = token;
    EXPECT_EQ(compare(other, reference, 0.001).wrong_tokens, 1) << token;
  }
}

TEST(Generation, MayChooseATokenThatIsAsGood) {
  Generation reference = generated(2, {9}, 1);
  auto& [logits, best] = reference.steps[0];
  const int other_token = (best[0] + 1) % shape::vocabulary;
  logits[other_token] = logits[best[0]];
  Generation other = reference;
  other.steps[0].best[0] = other_token;
  const Comparison comparison = compare(other, reference, 0.001);
  EXPECT_EQ(comparison.other_tokens, 1);
  EXPECT_EQ(comparison.wrong_tokens, 0);
}

TEST(Text, HasAWordOfItsOwnForEachToken) {
  std::vector<int> tokens(shape::vocabulary);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::set<std::string> words;
  std::string text;
  for (const int token : tokens) {
    const std::string word = text_of(std::vector{token});
    words.insert(word);
    text += (text.empty() ? "" : " ") + word;
  }
  EXPECT_EQ(words.size(), tokens.size());
  EXPECT_EQ(text_of(tokens), text);
}

}  // namespace
}  // namespace demo
