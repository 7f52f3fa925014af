#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "source/closure.h"
#include "source/header_files.h"
#include "source/header_search.h"
#include "source/reading.h"

namespace kiln {

/// What becomes of a closure when it is narrowed: look-ups are added to it, with the texts that the compiler read.
class NarrowedClosure {
 public:
  /// Borrows both.
  NarrowedClosure(const Closure& whole, HeaderFiles& files);

  [[nodiscard]] Closure& closure() noexcept { return closure_; }
  [[nodiscard]] const Closure& closure() const noexcept { return closure_; }

  /// The look-up's position. `reading`: of what was found on the disk. `index`: the look-up of the whole closure that it is,
  /// whose text it may be; of_none where it is none of them.
  std::uint32_t add(Dependency lookup, FoundHeader found, const Reading* reading,
                    std::size_t index);
  static constexpr std::size_t of_none = ~std::size_t{0};

  void remove_all();

  /// What is compiled cannot be known by its key. The first reason counts.
  void decline(std::string reason);

 private:
  std::shared_ptr<const HeaderText> known_text(std::size_t index, const Digest& content) const;
  std::shared_ptr<const HeaderText> text_of(const Reading& reading, std::size_t index);

  const Closure& whole_;
  HeaderFiles& files_;
  Closure closure_;
};

}  // namespace kiln
