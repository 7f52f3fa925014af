#include "record/artifact_codec.h"

#include <utility>

#include "record/fields.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t artifact_version = 1;

void encode_kernel(FieldWriter& out, const KernelInfo& kernel) {
  out.bytes(Tag::kernel_expression, kernel.expression);
  out.bytes(Tag::kernel_symbol, kernel.symbol);
  out.number(Tag::kernel_registers, kernel.registers);
  out.number(Tag::kernel_shared_bytes, kernel.shared_bytes);
  out.number(Tag::kernel_local_bytes, kernel.local_bytes);
  out.number(Tag::kernel_params_known, kernel.params_known ? 1 : 0);
  for (const Parameter& parameter : kernel.params) {
    out.number(Tag::parameter_offset, parameter.offset);
    out.number(Tag::parameter_size, parameter.size);
  }
}

bool decode_flag(FieldReader& in, Tag tag) {
  const std::uint64_t value = in.number(tag);
  if (value > 1) in.reject();
  return value == 1;
}

KernelInfo decode_kernel(FieldReader& in) {
  KernelInfo kernel;
  kernel.expression = in.text(Tag::kernel_expression);
  kernel.symbol = in.text(Tag::kernel_symbol);
  kernel.registers = in.number32(Tag::kernel_registers);
  kernel.shared_bytes = in.number32(Tag::kernel_shared_bytes);
  kernel.local_bytes = in.number32(Tag::kernel_local_bytes);
  kernel.params_known = decode_flag(in, Tag::kernel_params_known);
  while (in.at(Tag::parameter_offset)) {
    Parameter parameter;
    parameter.offset = in.number32(Tag::parameter_offset);
    parameter.size = in.number32(Tag::parameter_size);
    kernel.params.push_back(parameter);
  }
  return kernel;
}

}  // namespace

std::string encode_artifact(const Artifact& artifact) {
  FieldWriter out;
  out.reserve(artifact.image.size() + artifact.log.size() + 256 * (artifact.kernels.size() + 1));
  out.number(Tag::artifact_version, artifact_version);
  out.bytes(Tag::toolchain_text, artifact.toolchain);
  out.bytes(Tag::log, artifact.log);
  for (const KernelInfo& kernel : artifact.kernels) encode_kernel(out, kernel);
  out.bytes(Tag::image, artifact.image);
  return out.take();
}

std::optional<Artifact> decode_artifact(std::string record) {
  FieldReader in(record);
  if (in.number(Tag::artifact_version) != artifact_version) return std::nullopt;
  Artifact artifact;
  artifact.toolchain = in.text(Tag::toolchain_text);
  artifact.log = in.text(Tag::log);
  while (in.at(Tag::kernel_expression)) artifact.kernels.push_back(decode_kernel(in));
  const auto image = in.bytes(Tag::image);
  if (!in.finished()) return std::nullopt;
  // The last field: cutting off what stands before it is cheaper than new memory of that size.
  record.erase(0, record.size() - image.size());
  artifact.image = std::move(record);
  return artifact;
}

}  // namespace kiln::storage
