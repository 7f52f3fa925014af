#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "kiln/error.h"
#include "vendor/library_search.h"

namespace kiln {

/// A library of this machine, in two steps, each taken once and when first needed: where it lies (all that a hit asks), and
/// mapped. Safe to use from any thread.
template <class Library>
class InstalledLibrary {
 public:
  explicit InstalledLibrary(std::function<vendor::LibrarySearch()> find) : find_(std::move(find)) {}

  /// Where it lies, or where it was looked for.
  [[nodiscard]] const vendor::LibrarySearch& search() {
    std::call_once(searched_, [this] { search_ = find_(); });
    return search_;
  }

  /// Which one it is, without mapping it. Errors: compiler_missing where none was found.
  [[nodiscard]] Result<const Toolchain*> identity() {
    if (const auto& files = search().files) return &files->toolchain;
    return tl::unexpected(open().error());
  }

  /// Maps it. Errors: compiler_missing.
  [[nodiscard]] const Result<Library>& open() {
    std::call_once(opened_, [this] { library_ = Library::open(search()); });
    return library_;
  }

 private:
  const std::function<vendor::LibrarySearch()> find_;
  std::once_flag searched_;
  vendor::LibrarySearch search_;
  std::once_flag opened_;
  Result<Library> library_ = tl::unexpected(Error{});
};

}  // namespace kiln
