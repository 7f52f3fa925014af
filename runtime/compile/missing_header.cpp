#include "compile/missing_header.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "kiln/headers.h"

namespace kiln {

namespace {

// The headers of C++20 and of C, but for those of standard_headers(), each between blanks.
constexpr std::string_view standard_names =
    " any atomic barrier bit bitset cctype cerrno cfenv charconv chrono cinttypes clocale "
    "codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg "
    "cstdio cstdlib cstring ctime ctype.h cuchar cwchar cwctype deque errno.h exception "
    "execution expected fenv.h filesystem format forward_list fstream functional future "
    "initializer_list inttypes.h iomanip ios iosfwd iostream istream iterator latch list "
    "locale locale.h map memory memory_resource mutex new numbers numeric optional ostream "
    "queue random ranges ratio regex scoped_allocator semaphore set setjmp.h shared_mutex "
    "signal.h source_location span sstream stack stdarg.h stdexcept stdio.h stdlib.h "
    "stop_token streambuf string string.h string_view strstream syncstream system_error "
    "thread time.h typeindex typeinfo uchar.h unordered_map unordered_set valarray variant "
    "vector version wchar.h wctype.h ";

bool is_standard(std::string_view name) {
  return standard_names.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

// Where only NVRTC is installed, CUDA's own headers are not.
std::string whose(std::string_view name) {
  constexpr std::array cccl{"cub/", "cuda/", "thrust/"};
  constexpr std::array runtime{"cooperative_groups", "crt/", "cuda_", "cuda.h", "mma.h",
                               "vector_types.h"};
  const auto begins = [&](const char* beginning) { return name.starts_with(beginning); };
  if (std::ranges::any_of(cccl, begins))
    return "; a CUDA toolkit has it, or PyPI's nvidia-cuda-cccl";
  if (std::ranges::any_of(runtime, begins))
    return "; a CUDA toolkit has it, or PyPI's nvidia-cuda-runtime";
  return {};
}

bool is_at_hand(const std::string& name, const std::vector<std::string>& include_dirs) {
  std::error_code none;
  return std::any_of(include_dirs.begin(), include_dirs.end(), [&](const auto& directory) {
    return std::filesystem::is_regular_file(std::filesystem::path(directory) / name, none);
  });
}

}  // namespace

std::string remedy_for_missing_header(std::string_view name,
                                      const std::vector<std::string>& include_dirs) {
  if (standard_headers().find(name) != nullptr) {
    return fmt::format(
        "NVRTC has no <{}> of its own: add kiln::standard_headers() to the program's headers "
        "(--standard-headers on the command line)",
        name);
  }
  if (!is_standard(name))
    return fmt::format("Add its folder to the include directories, or embed it{}", whose(name));
  const auto of_libcudacxx = fmt::format("cuda/std/{}", name);
  return fmt::format(
      "NVRTC has no <{0}> of its own, and neither has kiln::standard_headers(): {1}leave the "
      "include out with #ifndef __CUDACC_RTC__ where only the host needs it, or embed a header of "
      "that name",
      name,
      is_at_hand(of_libcudacxx, include_dirs)
          ? fmt::format("include <{}> of libcu++, whose names are in cuda::std, ", of_libcudacxx)
          : "");
}

}  // namespace kiln
