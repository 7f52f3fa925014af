#include "report/report_page.h"

#include <string_view>

#include <kiln/cli/report_files.h>

namespace kiln::cli {

namespace {

constexpr std::string_view place_of_data = "@data@";

// In JSON a '<' is part of a text, where it may be spelled so; as it is, it could end the element that holds the data.
void append_escaped(std::string& page, std::string_view json) {
  for (auto at = json.find('<'); at != std::string_view::npos; at = json.find('<')) {
    page.append(json.substr(0, at)).append("\\u003c");
    json.remove_prefix(at + 1);
  }
  page.append(json);
}

}  // namespace

std::string report_page(const Json& data) {
  const auto whole = report_files().find("page.html")->text();
  const auto at = whole.find(place_of_data);
  std::string page(whole.substr(0, at));
  // Names and paths may hold any bytes; a page must be UTF-8.
  append_escaped(page, data.dump(-1, ' ', false, Json::error_handler_t::replace));
  return page.append(whole.substr(at + place_of_data.size()));
}

}  // namespace kiln::cli
