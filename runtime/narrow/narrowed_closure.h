#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "source/closure.h"
#include "source/header_files.h"
#include "source/header_search.h"
#include "source/reading.h"

namespace kiln {

/// A closure while it is narrowed: the look-ups that are kept, with the texts that the compiler read.
class NarrowedClosure {
 public:
  /// Borrows both.
  NarrowedClosure(const Closure& whole, HeaderFiles& files);

  [[nodiscard]] Closure& closure() noexcept { return closure_; }
  [[nodiscard]] const Closure& closure() const noexcept { return closure_; }

  /// Adds a look-up and gives its position. `reading` is that of a header on the disk. `index`: its position in the whole
  /// closure, which may have its text; of_none if it is not there.
  std::uint32_t add(Dependency lookup, FoundHeader found, const Reading* reading,
                    std::size_t index);
  static constexpr std::size_t of_none = ~std::size_t{0};

  /// Names what a look-up found, among those that were found: a path as it was asked for, or an embedded header. Nullptr where it
  /// found nothing.
  [[nodiscard]] const void* place(std::size_t position) const { return places_[position]; }

  /// Of the file that a look-up found; nullptr where it found none.
  [[nodiscard]] const Reading* reading(std::size_t position) const { return readings_[position]; }

  void remove_all();

  /// The result does not follow from its key. The first reason counts.
  void decline(std::string reason);

 private:
  std::shared_ptr<const HeaderText> known_text(std::size_t index, const Digest& content) const;
  std::shared_ptr<const HeaderText> text_of(const Reading& reading, std::size_t index);

  const Closure& whole_;
  HeaderFiles& files_;
  Closure closure_;
  std::vector<const Reading*> readings_;  ///< Beside each look-up.
  std::vector<const void*> places_;
};

}  // namespace kiln
