#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "c_api/c_api_values.h"
#include "kiln/c_api.h"

using namespace kiln;
using namespace kiln::c_api;

namespace {

VariantSpec variant_spec(const kiln_variant_spec& from) {
  VariantSpec spec{.name = given_text(from.name, "name"),
                   .since = given_text(from.since, "since"),
                   .file = optional_text(from.file).value_or(""),
                   .source = optional_text(from.source)};
  if (from.options != nullptr) spec.options = texts(from.options, from.option_count, "options");
  for (const auto& [expression, replacement] :
       given_list(from.kernels, from.kernel_count, "kernels")) {
    spec.kernels.emplace(given_text(expression, "expression"),
                         given_text(replacement, "replacement"));
  }
  return spec;
}

ProgramSpec program_spec(const kiln_program_spec& from) {
  ProgramSpec spec{.name = given_text(from.name, "name"),
                   .source = given_text(from.source, "source")};
  for (const kiln_header_set* set : given_list(from.headers, from.header_count, "headers")) {
    spec.headers.push_back(given(set, "headers").headers);
  }
  spec.include_dirs = paths(from.include_dirs, from.include_dir_count, "include_dirs");
  spec.kernels = texts(from.kernels, from.kernel_count, "kernels");
  spec.options = texts(from.options, from.option_count, "options");
  spec.toolkit_headers = from.no_toolkit_headers == 0;
  for (const kiln_variant_spec* variant :
       given_list(from.variants, from.variant_count, "variants")) {
    spec.variants.push_back(variant_spec(read(variant, "variants")));
  }
  return spec;
}

}  // namespace

kiln_error* kiln_header_set_make(const kiln_header* headers, size_t count, kiln_header_set** set) {
  return make_handle(set, "set", [&] {
    std::vector<HeaderSet::NamedText> texts;
    for (const kiln_header& header : given_list(headers, count, "headers")) {
      texts.push_back({given_text(header.name, "name"), given_text(header.text, "text")});
    }
    return HeaderSet::from_texts(std::move(texts));
  });
}

void kiln_header_set_free(kiln_header_set* set) { delete set; }

const kiln_header_set* kiln_device_headers() {
  // Never destroyed, like the one that it refers to.
  static const auto* const set =
      new kiln_header_set{device_headers()};  // NOLINT(cppcoreguidelines-owning-memory)
  return set;
}

const kiln_header_set* kiln_standard_headers() {
  static const auto* const set =
      new kiln_header_set{standard_headers()};  // NOLINT(cppcoreguidelines-owning-memory)
  return set;
}

kiln_error* kiln_program_make(const kiln_program_spec* spec, kiln_program** program) {
  return make_handle(program, "program",
                     [&] { return Program::make(program_spec(read(spec, "spec"))).value(); });
}

kiln_error* kiln_program_with_variant(const kiln_program* program, const char* name,
                                      kiln_program** chosen) {
  return make_handle(chosen, "chosen", [&] {
    return program_of(program).with_variant(&given(name, "name")).value();
  });
}

void kiln_program_free(kiln_program* program) { delete program; }
