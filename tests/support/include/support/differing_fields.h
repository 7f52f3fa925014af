#pragma once

#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

namespace kiln::test {

/// Keeps which fields the rows of a test change, to notice a field that no row changes. `Fields` is a tuple of references.
template <class Fields>
class ChangedFields {
 public:
  void note(const Fields& before, const Fields& after) {
    note(before, after, std::make_index_sequence<std::tuple_size_v<Fields>>());
  }

  /// By position.
  [[nodiscard]] std::set<std::size_t> unchanged() const {
    std::set<std::size_t> rest;
    for (std::size_t field = 0; field < std::tuple_size_v<Fields>; ++field) {
      if (!changed_.contains(field)) rest.insert(field);
    }
    return rest;
  }

 private:
  template <std::size_t... fields>
  void note(const Fields& before, const Fields& after, std::index_sequence<fields...>) {
    const auto note_one = [&](std::size_t field, bool differs) {
      if (differs) changed_.insert(field);
    };
    (note_one(fields, std::get<fields>(before) != std::get<fields>(after)), ...);
  }

  std::set<std::size_t> changed_;
};

}  // namespace kiln::test
