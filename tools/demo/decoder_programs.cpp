#include "decoder_programs.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "decoder_shape.h"
#include "kernel_program.h"

namespace demo {

namespace {

/// `name<__half, 512, 16>` for the sizes {512, 16}.
std::string half_kernel(std::string_view name, std::initializer_list<int> sizes) {
  std::string expression = std::string(name) + "<__half";
  for (const int size : sizes) expression += ", " + std::to_string(size);
  return expression + ">";
}

}  // namespace

std::vector<kiln::ProgramSpec> decoder_programs() {
  using namespace shape;
  return {
      kernel_program("embed.cu", {half_kernel("embed", {hidden})}),
      kernel_program("rms_norm.cu",
                     {half_kernel("rms_norm", {hidden}), half_kernel("add_rms_norm", {hidden})}),
      kernel_program("gemm.cu", {half_kernel("gemm", {64, 64})}),
      kernel_program("rotary.cu", {half_kernel("rotary_embedding", {head_dim})}),
      kernel_program("write_key_values.cu",
                     {half_kernel("write_key_values", {head_dim, page_size})}),
      kernel_program("paged_attention.cu",
                     {half_kernel("paged_attention", {head_dim, page_size, queries_per_kv_head})}),
      kernel_program("silu_and_mul.cu", {half_kernel("silu_and_mul", {intermediate})}),
      kernel_program("sample_top_k.cu", {half_kernel("sample_top_k", {32})}),
  };
}

}  // namespace demo
