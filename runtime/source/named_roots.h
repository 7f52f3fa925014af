#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/reading.h"

namespace kiln {

/// Names that stand for the include directories in a compile. Whoever answers the compiler's questions about files takes a name
/// for its directory, so that a question tells by which directory the compiler came to a path, and a path that a text spells is
/// told from one that was searched for. No text can spell a name: they are of this process, and made at random.
/// A value. Safe to use from several threads.
class NamedRoots {
 public:
  /// Of these include directories, which are absolute. REQUIRES: can_name().
  explicit NamedRoots(const std::vector<std::string>& directories);

  /// Whether a directive can tell where these lie (text_at()).
  [[nodiscard]] static bool can_name(const std::vector<std::string>& directories);

  /// In the order of the directories.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// A path that the compiler asked for below a name.
  struct Resolved {
    std::uint32_t root;  ///< The position of its directory.
    std::string path;    ///< On this machine.
  };

  /// Nothing where it is below no name.
  [[nodiscard]] std::optional<Resolved> resolve(std::string_view asked) const;

  /// The path as the compiler asked for it.
  [[nodiscard]] std::string asked(const Reading& reading) const;

  /// What each name begins with, in this process.
  [[nodiscard]] static const std::string& beginning();

 private:
  std::vector<std::string> directories_;
  std::vector<std::string> names_;
};

}  // namespace kiln
