#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/request.h"

namespace kiln {

/// Headers by the names under which they are embedded, each with its content. The content is empty() for
/// a name that was looked for and must not be there.
using NamedHeaders = std::map<std::string, Digest>;

/// Names the headers of recorded look-ups, such that each look-up finds, among embedded headers alone, what it
/// found when it was recorded. A quoted header becomes the neighbour of the header that quotes it, where that is
/// possible, so that a tree of files keeps its shape.
/// Errors: header_not_found, naming a look-up that no names make right: for a header that left the folder it
/// was searched from, or two of one name that the record cannot tell apart.
[[nodiscard]] Result<NamedHeaders> name_headers(const DependencySet& recorded);

/// Whether all look-ups find among these headers what they found when they were recorded.
[[nodiscard]] bool holds(const DependencySet& recorded, const NamedHeaders& headers);

/// The paths that reached the output, by the names of their headers.
[[nodiscard]] std::map<std::string, std::string> paths_of(const DependencySet& recorded,
                                                          const NamedHeaders& headers);

/// The numbers of the include directories in which headers lay, by their names, where the look-ups are of places.
[[nodiscard]] std::map<std::string, std::uint32_t> directories_of(const DependencySet& recorded);

/// Adds the headers of another record. False, and nothing is changed, if the two contradict each other.
[[nodiscard]] bool merge(NamedHeaders& headers, const NamedHeaders& others);

}  // namespace kiln
