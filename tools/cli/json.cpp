#include "json.h"

#include <cstddef>

#include <fmt/format.h>

#include "milliseconds.h"
#include "output.h"

namespace kiln::cli {

namespace {

Json params_json(const KernelInfo& kernel) {
  const auto kinds = parameter_kinds(kernel);
  auto list = Json::array();
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const auto& param = kernel.params[at];
    list.push_back(
        {{"offset", param.offset}, {"size", param.size}, {"kind", to_string(kinds[at])}});
  }
  return list;
}

}  // namespace

std::string document_text(const Json& members) {
  // Written before the members instead of added to them, which would copy them all: lists have thousands of documents.
  auto text = fmt::format("{{\"schema\":{},", json_schema);
  // Compiler logs and paths may hold any bytes; a document must be UTF-8.
  text.append(members.dump(-1, ' ', false, Json::error_handler_t::replace), 1);
  return text + '\n';
}

void print_json(const Json& members) {
  put_text(document_text(members));
  flush_text();
}

void print_report(const Globals& globals, const Json& document, std::string_view text) {
  if (globals.json) {
    print_json(document);
  } else if (!globals.quiet) {
    put_text(text);
  }
}

Json kernel_json(const KernelInfo& kernel, const KernelCode& code) {
  const auto if_known = [&](Json value) { return kernel.params_known ? std::move(value) : Json(); };
  return {{"expression", kernel.expression},
          {"symbol", kernel.symbol},
          {"registers", if_known(kernel.registers)},
          {"spill_store_bytes", code.spills ? Json(code.spills->store_bytes) : Json()},
          {"spill_load_bytes", code.spills ? Json(code.spills->load_bytes) : Json()},
          {"shared_bytes", if_known(kernel.shared_bytes)},
          {"local_bytes", if_known(kernel.local_bytes)},
          {"code_bytes", code.bytes ? Json(*code.bytes) : Json()},
          {"params", if_known(params_json(kernel))}};
}

Json kernels_json(const Artifact& artifact) {
  const auto code = kernel_code(artifact);
  auto list = Json::array();
  for (std::size_t at = 0; at < code.size(); ++at)
    list.push_back(kernel_json(artifact.kernels[at], code[at]));
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
          {"kernels", kernels_json(artifact)}};
}

Json summary_json(const EntrySummary& entry) {
  return {{"key", entry.key.hex()},       {"program", entry.program},
          {"engine", entry.engine},       {"arch", entry.arch},
          {"image", entry.kind},          {"kernels", entry.kernels},
          {"bytes", entry.image_bytes},   {"stored_bytes", entry.stored_bytes},
          {"created", entry.created},     {"compile_ms", milliseconds(entry.compile_us)},
          {"toolchain", entry.toolchain}, {"pinned", entry.pinned}};
}

Json setting_json(const Setting& setting) {
  return {{"variable", setting.variable}, {"value", setting.value}, {"origin", setting.origin}};
}

Json removed_json(const GcReport& report, bool dry_run) {
  return {{"entries", report.entries}, {"stored_bytes", report.bytes}, {"dry_run", dry_run}};
}

Json error_json(const Error& error) {
  return {
      {"error", {{"code", to_string(error.code)}, {"message", error.message}, {"log", error.log}}}};
}

}  // namespace kiln::cli
