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
     "_NV_TARGET_ARCH_TO_SM_##x _NV_TARGET_ARCH_TO_SELECTOR_##x __CUDA_ARCH__"},
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

}  // namespace kiln
