#include "decoder_manifest.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "decoder_programs.h"
#include "kiln/headers.h"

namespace demo {

namespace {

using Json = nlohmann::ordered_json;

/// But for kiln's own, which whoever reads the manifest adds.
Json embedded_headers(const kiln::ProgramSpec& spec) {
  Json headers = Json::object();
  for (const kiln::HeaderSet& set : spec.headers) {
    for (const kiln::EmbeddedHeader& header : set.headers()) {
      const bool own = kiln::device_headers().find(header.name) != nullptr;
      if (!own) headers[std::string(header.name)] = std::string(header.text());
    }
  }
  return headers;
}

Json manifest() {
  Json programs = Json::array();
  for (const auto& spec : decoder_programs()) {
    programs.push_back({{"name", spec.name},
                        {"kernels", spec.kernels},
                        {"options", spec.options},
                        {"headers", embedded_headers(spec)},
                        {"source", spec.source}});
  }
  return {{"kiln_manifest", 1}, {"programs", std::move(programs)}};
}

}  // namespace

void write_decoder_manifest(const std::filesystem::path& file) {
  errno = 0;
  std::ofstream stream(file);
  stream << manifest().dump(2) << '\n' << std::flush;
  if (!stream) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + file.string());
  }
}

}  // namespace demo
