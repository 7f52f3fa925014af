#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"
#include "kiln/headers.h"
#include "kiln/program.h"
#include "kiln/request.h"
#include "system/descriptor.h"

namespace kiln {

/// The name under which the compiler gets a program. It is absolute, so that a quoted include does not search the working
/// directory, and in a folder that no machine has.
[[nodiscard]] std::string virtual_name(std::string_view program);

/// The include directory of a program that has none. Without any, the compiler would not tell what it looks for. No machine
/// has it.
inline constexpr std::string_view no_directory = "/kiln/nowhere";

/// In a directory that lacks a name without an extension, NVRTC looks once more, with its front end's own suffix for the
/// standard's headers, before it goes on to the next one.
inline constexpr std::string_view front_end_suffix = ".stdh";

/// Whether NVRTC looks for a name with that suffix, too.
[[nodiscard]] bool has_no_extension(std::string_view spelling);

/// Whether a header of this name can be included in angle brackets: no bracket and no comment ends or begins in it.
[[nodiscard]] bool fits_brackets(std::string_view name);

/// The names of these headers, whatever sets and order they come in: sorted, each ended by a NUL.
[[nodiscard]] std::string names_of(const std::vector<HeaderSet>& headers);

/// A header as it was found: embedded, on disk, or not at all.
struct FoundHeader {
  const EmbeddedHeader* embedded = nullptr;
  std::string path;         ///< On disk: absolute.
  FileStamp stamp;          ///< On disk: as it looked when it was found.
  bool in_toolkit = false;  ///< On disk: below one of the toolkit's directories.
  bool beside = false;      ///< It is its includer's neighbour.

  [[nodiscard]] bool found() const noexcept { return embedded != nullptr || !path.empty(); }

  /// What the compiler calls it: the path, or the embedded name.
  [[nodiscard]] std::string_view place() const noexcept {
    return embedded != nullptr ? embedded->name : std::string_view(path);
  }
};

/// An embedded header as the compiler gets it: its neighbours spelled out.
struct HeaderForCompiler {
  std::string name;
  std::string text;
};

/// Beside whom a quoted look-up is searched for first; nullptr for nobody: an embedded header finds nothing beside it by a name that
/// no directive has.
[[nodiscard]] inline const FoundHeader* searched_beside(bool as_spelled,
                                                        const FoundHeader& includer) {
  return as_spelled && includer.embedded != nullptr ? nullptr : &includer;
}

/// Whether NVRTC looks for this below the working directory, too, before it goes through the include directories. REQUIRES: the
/// look-up is a quoted one of that includer, and no embedded header is found.
[[nodiscard]] inline bool looks_in_working_directory(const Dependency& lookup,
                                                     const FoundHeader& includer) {
  return includer.embedded != nullptr && (lookup.as_spelled || lookup.tested) &&
         !lookup.spelling.starts_with('/');
}

/// Where a program's headers are looked for: among its embedded ones, in its include directories, then in the toolkit's.
/// A value; borrows the program's header tables. Safe to use from several threads.
class HeaderSearch {
 public:
  HeaderSearch(const Program& program, const std::vector<std::filesystem::path>& toolkit_dirs);

  /// The program's source as an includer.
  [[nodiscard]] const FoundHeader& source() const noexcept { return source_; }

  /// The first embedded header of this name, or nullptr.
  [[nodiscard]] const EmbeddedHeader* find_embedded(std::string_view name) const;

  /// All of this name, in the order of the search.
  [[nodiscard]] std::vector<const EmbeddedHeader*> find_all_embedded(std::string_view name) const;

  /// Fills path and stamp of a header that is there. Gives whether the search ends. `directory`: the index of the include
  /// directory in which the path was made, or of_none. `suffixed`: the front end's suffix stands behind what is searched.
  using Look = std::function<bool(std::string path, std::size_t directory, bool suffixed,
                                  FoundHeader& header)>;
  static constexpr std::size_t of_none = ~std::size_t{0};

  /// Looks for a header as NVRTC does (measured with 13.0): by literal spelling among the embedded ones; else,
  /// for a quoted include, beside the file that includes it; else in the program's include directories,
  /// then in the toolkit's. In each place a name without an extension is looked for with front_end_suffix, too. One thing is kiln's own: a quoted include in an embedded header first means
  /// its neighbour in the set, which the compile stage makes true by rewriting the directive.
  ///
  /// `quoted_in`: the includer of a quoted include; nullptr for one in angle brackets. `look` is called for each path
  /// in turn.
  [[nodiscard]] FoundHeader find(std::string_view spelling, const FoundHeader* quoted_in,
                                 const Look& look) const;

  /// Where that is.
  [[nodiscard]] static std::string below_working_directory(std::string_view spelling,
                                                           const EmbeddedHeader& includer);

  /// The neighbour that a quoted include in an embedded header means, or nullptr. None is meant by an absolute name, nor one whose
  /// name no brackets can hold.
  [[nodiscard]] const EmbeddedHeader* neighbour(std::string_view spelling,
                                                const EmbeddedHeader& includer) const;

  /// All embedded headers, each name once, the one that a look-up finds.
  [[nodiscard]] std::vector<const EmbeddedHeader*> embedded() const;

  /// The program's and the toolkit's, in the order of the search. Absolute.
  [[nodiscard]] const std::vector<std::string>& directories() const noexcept {
    return directories_;
  }

  [[nodiscard]] bool is_toolkit_directory(std::size_t index) const noexcept {
    return index >= program_dirs_;
  }

  /// The digest of this list of directories, which a Witness names.
  [[nodiscard]] const Digest& roots() const noexcept { return roots_; }

  [[nodiscard]] Digest embedded_names() const { return digest_of(names_of(headers_)); }

  /// The digest of all that is searched, embedded headers with their content. Two programs that agree in it and in their
  /// request get the same.
  [[nodiscard]] Digest surroundings() const;

 private:
  std::vector<HeaderSet> headers_;
  std::vector<std::string> directories_;
  std::size_t program_dirs_;
  FoundHeader source_;
  Digest roots_;
};

/// Finds headers on this machine, as HeaderSearch::find() says.
///
/// For one pass over many look-ups: it holds the directories open, so that the system need not walk to them
/// for each (which is a quarter of what a look-up of 700 headers costs). Each is opened when it is first looked
/// into, since many programs have no header on the disk. Borrows the search. For one thread.
class HeaderFinder {
 public:
  explicit HeaderFinder(const HeaderSearch& search);
  HeaderFinder(const HeaderFinder&) = delete;
  HeaderFinder& operator=(const HeaderFinder&) = delete;

  /// An include in angle brackets.
  [[nodiscard]] FoundHeader find(std::string_view spelling) const {
    return find(spelling, nullptr);
  }

  /// The file of this path, wherever it lies.
  [[nodiscard]] static FoundHeader find_file(std::string path);

  /// Each place where an include in angle brackets might be found, in the order of the search: find()
  /// gives the first.
  [[nodiscard]] std::vector<FoundHeader> find_all(std::string_view spelling) const;

  /// A quoted include in `includer`.
  [[nodiscard]] FoundHeader find_quoted(std::string_view spelling,
                                        const FoundHeader& includer) const {
    return find(spelling, &includer);
  }

 private:
  /// A directory of the search.
  class Directory {
   public:
    explicit Directory(const std::string& path) : prefix_(path + '/') {}

    /// Its path, and a slash.
    [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }

    /// How the file looks that this path, which begins with the prefix, leads to.
    [[nodiscard]] std::optional<FileStamp> stamp(const std::string& path) const;

   private:
    std::string prefix_;
    mutable bool opened_ = false;
    mutable system::Descriptor handle_;  ///< Where it was opened, and can be.
  };

  [[nodiscard]] FoundHeader find(std::string_view spelling, const FoundHeader* quoted_in) const;
  bool look(std::string path, std::size_t directory, FoundHeader& header) const;

  const HeaderSearch& search_;
  std::vector<Directory> directories_;
};

}  // namespace kiln
