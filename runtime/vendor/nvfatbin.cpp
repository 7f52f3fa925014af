#include "vendor/nvfatbin.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "vendor/function_table.h"
#include "vendor/library_opening.h"

#if __has_include(<nvFatbin.h>)
#include <nvFatbin.h>
#define KILN_HAS_NVFATBIN_HEADER 1
#endif

namespace kiln::vendor {

namespace {

constexpr std::array<std::string_view, 2> sonames{"libnvfatbin.so.13", "libnvfatbin.so.12"};
constexpr std::array<std::string_view, 2> wheel_folders{"nvidia/cu13/lib", "nvidia/nvfatbin/lib"};
constexpr WantedLibrary wanted{.name = "nvFatbin",
                               .variable = "KILN_NVFATBIN",
                               .stem = "libnvfatbin.so.",
                               .sonames = sonames,
                               .wheel_folders = wheel_folders,
                               .package = "nvidia-nvfatbin",
                               .loss = "no fatbin can be made"};

}  // namespace

LibrarySearch find_nvfatbin(const std::optional<std::filesystem::path>& exact,
                            const std::filesystem::path& beside_nvrtc) {
  return find_library(wanted, exact, beside_nvrtc);
}

#ifdef KILN_HAS_NVFATBIN_HEADER

#define KILN_NVFATBIN_FUNCTIONS(X)                      \
  X(version, nvFatbinVersion, required)                 \
  X(get_error_string, nvFatbinGetErrorString, required) \
  X(create, nvFatbinCreate, required)                   \
  X(destroy, nvFatbinDestroy, required)                 \
  X(add_cubin, nvFatbinAddCubin, required)              \
  X(add_ptx, nvFatbinAddPTX, required)                  \
  X(size, nvFatbinSize, required)                       \
  X(get, nvFatbinGet, required)

struct NvFatbin::Functions {
  KILN_NVFATBIN_FUNCTIONS(KILN_FUNCTION_MEMBER)
  std::string text = "nvFatbin";
};

namespace {

/// One fatbin from its beginning to its end.
template <class Functions>
class Packing {
 public:
  explicit Packing(const Functions& functions) : functions_(functions) {}
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
  ~Packing() {
    if (handle_ != nullptr) functions_.destroy(&handle_);
  }

  Result<std::string> run(const std::vector<FatbinMember>& members) {
    // The cache compresses what it stores, and a driver that need not decompress loads sooner.
    std::array<const char*, 2> options{"-64", "-compress=false"};
    auto result = functions_.create(&handle_, options.data(), options.size());
    if (result != NVFATBIN_SUCCESS) return failure("the fatbin", result);
    for (const auto& member : members) {
      result = add(member);
      if (result != NVFATBIN_SUCCESS) {
        return failure(fmt::format("{} of {} for {}", to_string(member.kind), member.name,
                                   member.architecture),
                       result);
      }
    }
    std::size_t size = 0;
    result = functions_.size(handle_, &size);
    std::string fatbin(size, '\0');
    if (result == NVFATBIN_SUCCESS) result = functions_.get(handle_, fatbin.data());
    if (result != NVFATBIN_SUCCESS) return failure("the fatbin", result);
    return fatbin;
  }

 private:
  nvFatbinResult add(const FatbinMember& member) {
    const char* architecture = member.architecture.c_str();
    if (member.kind == ImageKind::cubin) {
      return functions_.add_cubin(handle_, member.image.data(), member.image.size(), architecture,
                                  member.name.c_str());
    }
    // The size counts the NUL.
    const std::string text(member.image);
    return functions_.add_ptx(handle_, text.c_str(), text.size() + 1, architecture,
                              member.name.c_str(), "");
  }

  tl::unexpected<Error> failure(const std::string& what, nvFatbinResult result) const {
    const char* words = functions_.get_error_string(result);
    return fail(ErrorCode::link_failed,
                fmt::format("{}: {}", what, words != nullptr ? words : "no reason given"), {},
                result);
  }

  const Functions& functions_;
  nvFatbinHandle handle_ = nullptr;
};

}  // namespace

Result<NvFatbin> NvFatbin::open(const LibrarySearch& search) {
  const auto library = open_library(wanted, search);
  if (!library) return tl::unexpected(library.error());
  auto functions = std::make_shared<Functions>();
  auto& table = *functions;
  Binder binder([&](const char* name) { return library->symbol(name); });
  KILN_NVFATBIN_FUNCTIONS(KILN_FUNCTION_BIND)
  if (!binder.missing().empty())
    return unusable(wanted, *search.files, "it has no function " + binder.missing());
  unsigned major = 0;
  unsigned minor = 0;
  if (table.version(&major, &minor) == NVFATBIN_SUCCESS)
    table.text = fmt::format("nvFatbin {}.{}", major, minor);
  return NvFatbin(std::move(functions));
}

Result<std::string> NvFatbin::pack(const std::vector<FatbinMember>& members) const {
  return Packing(*functions_).run(members);
}

#else

struct NvFatbin::Functions {
  std::string text;
};

Result<NvFatbin> NvFatbin::open(const LibrarySearch&) {
  return fail(ErrorCode::compiler_missing,
              "this kiln was built without nvFatbin.h, so it makes no fatbins: build it where the "
              "package nvidia-nvfatbin or a CUDA toolkit is installed");
}

Result<std::string> NvFatbin::pack(const std::vector<FatbinMember>&) const {
  return fail(ErrorCode::compiler_missing, "this kiln was built without nvFatbin.h");
}

#endif

const std::string& NvFatbin::text() const noexcept { return functions_->text; }

NvFatbin::NvFatbin(std::shared_ptr<const Functions> functions) noexcept
    : functions_(std::move(functions)) {}

}  // namespace kiln::vendor
