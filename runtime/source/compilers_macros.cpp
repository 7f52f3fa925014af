#include "source/compilers_macros.h"

#include <algorithm>
#include <array>

namespace kiln {

namespace {

// `$` stands for the rest of the macro's name.
struct Family {
  std::string_view beginning;
  std::string_view body;
};

// As NVRTC 13.0 and the headers that it has built in define them. A test compares them with those of the NVRTC at hand.
constexpr std::array<Family, 16> families{{
    {"NV_", "__NV_$ NV_NO_TARGET NV_TARGET_SM_INTEGER_LIST NV_TARGET_SM_SELECTOR_LIST _NV_IF_##x"},
    {"_NV_",
     "_NV_IF_##x _NV_IS_EMPTY_CASE_##x _NV_TARGET_BOOL_##x _NV_TARGET_DISPATCH_HANDLE##x "
     "_NV_TARGET_ARCH_TO_SM_##x _NV_TARGET_ARCH_TO_SELECTOR_##x __CUDA_ARCH__ _NV_PAREN_YES"},
    {"__ASSERT_STR_HELPER", "#x"},
    {"__CUDART_API_PT", "x##_ptds x##_ptsz"},
    {"__CUDART_API_VERSION", "CUDART_VERSION __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__"},
    {"__CUDA_API_VER_", "__CUDACC_VER_$"},
    {"__CUDA_ARCH_HAS_FEATURE__", "__CUDA_ARCH_FEAT_##x"},
    {"__CUDA_HAS_ARCH_", "x##0 __CUDA_ARCH_SPECIFIC__ __CUDA_ARCH_FAMILY_SPECIFIC__"},
    {"__CUDA_MINIMUM_ARCH__", "NV_TARGET_SM_INTEGER_LIST _NV_IF_##x __CUDA_ARCH__"},
    {"__cudaGet_", "$"},
    {"__location__", "__##x##__"},
    {"cudaKernelNodeAttribute", "cudaLaunchAttribute$"},
    {"cudaKernelNodeAttr", "cudaLaunchAttribute$"},
    {"cudaStreamAttribute", "cudaLaunchAttribute$"},
    {"cudaStreamAttr", "cudaLaunchAttribute$"},
    {"__NV_SILENCE_DEPRECATION_", "_Pragma __NV_SILENCE_HOST_DEPRECATION_$"},
}};

// All that the bodies of the others name, and what the ones above bring along: names of NVRTC's library, attributes, keywords.
constexpr std::string_view words =
    " _ _U __CUDA_ARCH__ __NV_ATOMIC_ALIGNOF __NV_ATOMIC_TRIVIALLY_COPYABLE __NV_PAREN_NO"
    " __PRETTY_FUNCTION__ __align__ __alignof __alignof__ __annotate__ __assertfail __attribute__"
    " __block_size__ __builtin_alt_va_arg __builtin_alt_va_start __builtin_va_copy"
    " __builtin_va_end __cdecl __cluster_dims__ __cu_va_arg __cu_va_copy __cu_va_end __cu_va_start"
    " __declspec __device__ __forceinline __inline__ __nv_atomic_enable_if"
    " __nv_atomic_triv_cp_helper __pragma __ret __stdcall __thread __type __u __val align aligned"
    " always_inline blockDim blockIdx block_size char cluster_dims const const_cast constant"
    " cudaStream_t cudart_builtin device device_builtin device_builtin_surface_type"
    " device_builtin_texture_type dllexport dllimport else false global gridDim grid_constant host"
    " if int is_exactly launch_bounds local_maxnreg managed maxnreg noreturn nv nv_diag_suppress"
    " nv_diagnostic nv_inline_hint nv_pure pop provides push reinterpret_cast requires shared"
    " sizeof static static_cast target thread threadIdx tile tile_builtin tile_global typename"
    " union void volatile warpSize ";

constexpr std::array<std::string_view, 9> beginnings{
    "sm_",           "cudaLaunchAttribute", "__CUDA_ARCH_FEAT_", "__CUDACC_VER_",
    "__NV_IS_",      "__NV_PROVIDES_",      "__NV_HAS_FEATURE_", "__NV_ANY_TARGET",
    "__NV_NO_TARGET"};

constexpr bool may_be_compilers_macro(std::string_view word) {
  if (word.size() < 3) return false;
  switch (word[0]) {
    case 'N':
      return word[1] == 'V';
    case 'c':
      return word.starts_with("cuda");
    case '_':
      return word[1] == 'N' ||
             (word[1] == '_' && std::string_view("ACNcl").find(word[2]) != std::string_view::npos);
    default:
      return false;
  }
}
static_assert(std::all_of(families.begin(), families.end(), [](const Family& family) {
  return may_be_compilers_macro(family.beginning);
}));

const Family* family_of(std::string_view word) {
  for (const auto& family : families) {
    if (word.starts_with(family.beginning)) return &family;
  }
  return nullptr;
}

}  // namespace

bool is_compilers_macro(std::string_view word) {
  return may_be_compilers_macro(word) && family_of(word) != nullptr;
}

std::string body_of_compilers_macro(std::string_view word) {
  const auto& family = *family_of(word);
  std::string body(family.body);
  if (const auto rest = body.find('$'); rest != std::string::npos)
    body.replace(rest, 1, word.substr(family.beginning.size()));
  return body;
}

bool is_word_of_compilers_macros(std::string_view word) {
  const auto begins = [&](std::string_view beginning) { return word.starts_with(beginning); };
  return std::any_of(beginnings.begin(), beginnings.end(), begins) ||
         words.find(' ' + std::string(word) + ' ') != std::string_view::npos;
}

}  // namespace kiln
