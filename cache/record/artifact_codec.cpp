#include "record/artifact_codec.h"

#include <utility>

#include "record/fields.h"

namespace kiln::storage {
namespace {

constexpr auto kernel_fields = [](auto& fields, auto& kernel) {
  fields.field(Tag::kernel_expression, kernel.expression);
  fields.field(Tag::kernel_symbol, kernel.symbol);
  fields.field(Tag::kernel_registers, kernel.registers);
  fields.field(Tag::kernel_shared_bytes, kernel.shared_bytes);
  fields.field(Tag::kernel_local_bytes, kernel.local_bytes);
  fields.field(Tag::kernel_params_known, kernel.params_known);
  fields.list(Tag::parameter_offset, kernel.params, [&](auto& parameter) {
    fields.field(Tag::parameter_offset, parameter.offset);
    fields.field(Tag::parameter_size, parameter.size);
  });
};

constexpr auto code_fields = [](auto& fields, auto& code) {
  fields.known(Tag::kernel_code_bytes, code.bytes,
               [&](auto& bytes) { fields.field(Tag::kernel_code_bytes, bytes); });
  fields.known(Tag::kernel_spill_stores, code.spills, [&](auto& spills) {
    fields.field(Tag::kernel_spill_stores, spills.store_bytes);
    fields.field(Tag::kernel_spill_loads, spills.load_bytes);
  });
  fields.known(Tag::kernel_max_threads, code.max_threads,
               [&](auto& threads) { fields.field(Tag::kernel_max_threads, threads); });
};

constexpr auto listed_kernels_fields = [](auto& fields, auto& kernels) {
  fields.version(Tag::kernels_version, 1);
  fields.list(Tag::kernel_expression, kernels, [&](auto& kernel) {
    kernel_fields(fields, kernel.info);
    code_fields(fields, kernel.code);
  });
};

/// All but the image, which is the last field.
constexpr auto artifact_fields = [](auto& fields, auto& artifact) {
  fields.version(Tag::artifact_version, 1);
  fields.field(Tag::toolchain_text, artifact.toolchain);
  fields.field(Tag::log, artifact.log);
  fields.list(Tag::kernel_expression, artifact.kernels,
              [&](auto& kernel) { kernel_fields(fields, kernel); });
  fields.optional(Tag::source_text, artifact.source_text, Digest());
};

}  // namespace

std::string encode_artifact(const Artifact& artifact) {
  FieldWriter out;
  out.reserve(artifact.image.size() + artifact.log.size() + 256 * (artifact.kernels.size() + 1));
  artifact_fields(out, artifact);
  out.bytes(Tag::image, artifact.image);
  return out.take();
}

std::optional<Artifact> decode_artifact(ImageBuffer record) {
  FieldReader in(record.view());
  Artifact artifact;
  artifact_fields(in, artifact);
  const auto image = in.bytes(Tag::image);
  if (!in.finished()) return std::nullopt;
  artifact.image = std::move(record).image(image.size());
  return artifact;
}

std::string encode_kernels(const std::vector<ListedKernel>& kernels) {
  return write_record(kernels, listed_kernels_fields);
}

std::optional<std::vector<ListedKernel>> decode_kernels(std::string_view record) {
  return read_record<std::vector<ListedKernel>>(record, listed_kernels_fields);
}

}  // namespace kiln::storage
