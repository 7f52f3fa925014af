#pragma once

#include <string>

#include "json.h"

namespace kiln::cli {

/// The page that shows this data: one HTML document that loads nothing and runs no script but its own, whatever the
/// data's texts hold.
[[nodiscard]] std::string report_page(const Json& data);

}  // namespace kiln::cli
