#pragma once

#include <memory>

#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"
#include "source/reading.h"

namespace kiln {

/// All look-ups that the texts may make which a compile read: some tens of headers, where close_over() of the disk follows the hundreds
/// that it would come to if all conditionals were true. Each look-up finds what the compile was told. A header that was not
/// read, or is another one by now, is not followed.
///
/// `source` is the program's, scanned.
[[nodiscard]] Closure closure_of_readings(const Query& query,
                                          std::shared_ptr<const HeaderText> source,
                                          const Readings& readings, HeaderFiles& files);

}  // namespace kiln
