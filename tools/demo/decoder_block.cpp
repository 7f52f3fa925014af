#include "decoder_block.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "kernel_program.h"

namespace demo {

namespace {

constexpr std::string_view element_types[] = {"__half", "__nv_bfloat16"};

/// Each of the patterns, with every element type in the place of "T".
std::vector<std::string> for_each_element(std::initializer_list<std::string_view> patterns) {
  constexpr std::string_view placeholder = "<T";
  std::vector<std::string> kernels;
  for (const std::string_view element : element_types) {
    for (const std::string_view pattern : patterns) {
      std::string kernel(pattern);
      kernel.replace(kernel.find(placeholder) + 1, 1, element);
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

kiln::ProgramSpec program(std::string_view file, std::initializer_list<std::string_view> patterns) {
  return kernel_program(file, for_each_element(patterns));
}

}  // namespace

std::vector<kiln::ProgramSpec> decoder_block() {
  return {
      program("rms_norm.cu", {"rms_norm<T, 4096>", "rms_norm<T, 8192>", "add_rms_norm<T, 4096>",
                              "add_rms_norm<T, 8192>"}),
      program("rotary.cu", {"rotary_embedding<T, 64>", "rotary_embedding<T, 128>"}),
      program("paged_attention.cu",
              {"paged_attention<T, 64, 16, 4>", "paged_attention<T, 128, 16, 4>",
               "paged_attention<T, 128, 16, 8>"}),
      program("gemm.cu", {"gemm<T, 64, 64>", "gemm<T, 128, 128>"}),
      program("int4_gemv.cu",
              {"int4_gemv<T, 4096, 64>", "int4_gemv<T, 4096, 128>", "int4_gemv<T, 14336, 128>"}),
      program("silu_and_mul.cu", {"silu_and_mul<T, 11008>", "silu_and_mul<T, 14336>"}),
      program("sample_top_k.cu", {"sample_top_k<T, 32>", "sample_top_k<T, 64>"}),
  };
}

}  // namespace demo
