#include "json.h"

#include <cstdio>

#include <fmt/format.h>

namespace kiln::cli {

namespace {

double milliseconds(std::uint64_t microseconds) { return static_cast<double>(microseconds) / 1000; }

Json params_json(const std::vector<Parameter>& params) {
  auto list = Json::array();
  for (const auto& param : params) list.push_back({{"offset", param.offset}, {"size", param.size}});
  return list;
}

Json kernel_json(const KernelInfo& kernel) {
  const auto if_known = [&](Json value) { return kernel.params_known ? std::move(value) : Json(); };
  return {{"expression", kernel.expression},
          {"symbol", kernel.symbol},
          {"registers", if_known(kernel.registers)},
          {"shared_bytes", if_known(kernel.shared_bytes)},
          {"local_bytes", if_known(kernel.local_bytes)},
          {"params", if_known(params_json(kernel.params))}};
}

}  // namespace

std::string document_text(const Json& members) {
  Json document{{"schema", json_schema}};
  document.update(members);
  // Compiler logs and paths may hold any bytes; a document must be UTF-8.
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void print_json(const Json& members) {
  fmt::print("{}", document_text(members));
  std::fflush(stdout);
}

void print_report(const Globals& globals, const Json& document, std::string_view text) {
  if (globals.json) {
    print_json(document);
  } else if (!globals.quiet) {
    fmt::print("{}", text);
  }
}

Json kernels_json(const std::vector<KernelInfo>& kernels) {
  auto list = Json::array();
  for (const auto& kernel : kernels) list.push_back(kernel_json(kernel));
  return list;
}

Json artifact_json(const Artifact& artifact) {
  return {{"key", artifact.key.hex()},
          {"program", artifact.program},
          {"arch", artifact.arch},
          {"image", artifact.kind},
          {"origin", to_string(artifact.origin)},
          {"bytes", artifact.image.size()},
          {"compile_ms", milliseconds(artifact.compile_us)},
          {"kernels", kernels_json(artifact.kernels)}};
}

Json summary_json(const EntrySummary& entry) {
  return {{"key", entry.key.hex()},
          {"program", entry.program},
          {"arch", entry.arch},
          {"image", entry.kind},
          {"kernels", entry.kernels},
          {"bytes", entry.image_bytes},
          {"stored_bytes", entry.stored_bytes},
          {"created", entry.created},
          {"compile_ms", milliseconds(entry.compile_us)},
          {"toolchain", entry.toolchain},
          {"pinned", entry.pinned}};
}

Json setting_json(const Setting& setting) {
  return {{"variable", setting.variable}, {"value", setting.value}, {"origin", setting.origin}};
}

Json removed_json(const GcReport& report) {
  return {{"entries", report.entries}, {"bytes", report.bytes}};
}

Json error_json(const Error& error) {
  return {
      {"error", {{"code", to_string(error.code)}, {"message", error.message}, {"log", error.log}}}};
}

}  // namespace kiln::cli
