#include "compile/missing_header.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

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

/// PyPI's packages of CUDA's headers, as they are named from CUDA 13 on and in CUDA 12.
struct Package {
  std::string_view name;
  std::string_view of_cuda_12;
};

constexpr Package cccl{"nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"};
constexpr Package crt{"nvidia-cuda-crt", "nvidia-cuda-nvcc-cu12"};
constexpr Package runtime{"nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"};

/// By how their names begin; where that has a file's ending, it is the whole name.
constexpr std::array<std::pair<std::string_view, Package>, 17> packages{
    {{"cub/", cccl},
     {"cuda/", cccl},
     {"nv/", cccl},
     {"thrust/", cccl},
     {"crt/", crt},
     {"cooperative_groups/", runtime},
     {"cooperative_groups.h", runtime},
     {"cuda_awbarrier", runtime},
     {"cuda_bf16", runtime},
     {"cuda_fp", runtime},
     {"cuda_pipeline", runtime},
     {"cuda_runtime", runtime},
     {"cuda_surface", runtime},
     {"cuda_texture", runtime},
     {"cuda.h", runtime},
     {"mma.h", runtime},
     {"vector_types.h", runtime}}};

bool is_of(std::string_view name, std::string_view beginning) {
  // What libcu++ gives to programs has no ending.
  if (beginning == "cuda/" && name.find('.') != std::string_view::npos) return false;
  return beginning.ends_with(".h") ? name == beginning : name.starts_with(beginning);
}

// Where only NVRTC is installed, CUDA's own headers are not.
std::string whose(std::string_view name, int cuda_major) {
  const auto package =
      std::ranges::find_if(packages, [&](const auto& each) { return is_of(name, each.first); });
  if (package == packages.end()) return {};
  return fmt::format("; a CUDA toolkit has it, or PyPI's {}",
                     cuda_major < 13 ? package->second.of_cuda_12 : package->second.name);
}

bool is_at_hand(const std::string& name, const std::vector<std::string>& include_dirs) {
  std::error_code none;
  return std::any_of(include_dirs.begin(), include_dirs.end(), [&](const auto& directory) {
    return std::filesystem::is_regular_file(std::filesystem::path(directory) / name, none);
  });
}

// What is there under this name and is no header that can be read; empty where nothing is.
std::string obstacle_in(const std::string& directory, std::string_view name) {
  const auto path = std::filesystem::path(directory) / name;
  std::error_code failure;
  const auto link = std::filesystem::symlink_status(path, failure);
  if (failure == std::errc::permission_denied)
    return fmt::format("the folder of '{}' may not be searched", path.string());
  if (!std::filesystem::exists(link)) return {};
  const auto file = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(file))
    return fmt::format("'{}' is a link that leads nowhere", path.string());
  if (!std::filesystem::is_regular_file(file)) return fmt::format("'{}' is no file", path.string());
  return ::access(path.c_str(), R_OK) == 0 ? std::string()
                                           : fmt::format("'{}' may not be read", path.string());
}

}  // namespace

std::string remedy_for_missing_header(std::string_view name,
                                      const std::vector<std::string>& include_dirs,
                                      int cuda_major) {
  for (const auto& directory : include_dirs) {
    if (const auto obstacle = obstacle_in(directory, name); !obstacle.empty())
      return fmt::format("What is there does not serve: {}", obstacle);
  }
  if (standard_headers().find(name) != nullptr) {
    return fmt::format(
        "NVRTC has no <{}> of its own: add kiln::standard_headers() to the program's headers "
        "(--standard-headers on the command line)",
        name);
  }
  if (!is_standard(name))
    return fmt::format("Add its folder to the include directories, or embed it{}",
                       whose(name, cuda_major));
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
