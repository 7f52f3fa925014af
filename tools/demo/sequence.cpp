#include "sequence.h"

#include <algorithm>
#include <cstddef>

#include "decoder_shape.h"

namespace demo {

namespace {

/// In no order, as pages are found where many sequences come and go.
int free_page(std::size_t taken) { return static_cast<int>((taken * 7 + 3) % shape::pages); }
static_assert(shape::pages % 7 != 0, "each page is found once");

}  // namespace

Batch Sequence::append(std::span<const int> tokens) {
  Batch batch;
  for (const int token : tokens) {
    if (length_ % shape::page_size == 0) pages_.push_back(free_page(pages_.size()));
    batch.tokens.push_back(token);
    batch.positions.push_back(length_);
    batch.lengths.push_back(++length_);
  }
  batch.page_table.resize(tokens.size() * shape::pages);
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    std::copy(pages_.begin(), pages_.end(),
              batch.page_table.begin() + static_cast<std::ptrdiff_t>(row * shape::pages));
  }
  return batch;
}

}  // namespace demo
