#include "vendor/nvjitlink.h"

#include <array>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "vendor/function_table.h"
#include "vendor/library_opening.h"
#include "vendor/sized_read.h"

#if __has_include(<nvJitLink.h>)
#include <nvJitLink.h>
#define KILN_HAS_NVJITLINK_HEADER 1
#endif

namespace kiln::vendor {

namespace {

constexpr std::array<std::string_view, 2> sonames{"libnvJitLink.so.13", "libnvJitLink.so.12"};
constexpr std::array<std::string_view, 2> wheel_folders{"nvidia/cu13/lib", "nvidia/nvjitlink/lib"};
constexpr WantedLibrary wanted{.name = "nvJitLink",
                               .variable = "KILN_NVJITLINK",
                               .stem = "libnvJitLink.so.",
                               .sonames = sonames,
                               .wheel_folders = wheel_folders,
                               .package = "nvidia-nvjitlink",
                               .loss = "nothing can be linked"};

}  // namespace

LibrarySearch find_nvjitlink(const std::optional<std::filesystem::path>& exact,
                             const std::filesystem::path& beside_nvrtc) {
  return find_library(wanted, exact, beside_nvrtc);
}

#ifdef KILN_HAS_NVJITLINK_HEADER

#define KILN_NVJITLINK_FUNCTIONS(X)                         \
  X(create, nvJitLinkCreate, required)                      \
  X(destroy, nvJitLinkDestroy, required)                    \
  X(add_data, nvJitLinkAddData, required)                   \
  X(complete, nvJitLinkComplete, required)                  \
  X(get_cubin_size, nvJitLinkGetLinkedCubinSize, required)  \
  X(get_cubin, nvJitLinkGetLinkedCubin, required)           \
  X(get_ptx_size, nvJitLinkGetLinkedPtxSize, required)      \
  X(get_ptx, nvJitLinkGetLinkedPtx, required)               \
  X(get_error_log_size, nvJitLinkGetErrorLogSize, required) \
  X(get_error_log, nvJitLinkGetErrorLog, required)          \
  X(get_info_log_size, nvJitLinkGetInfoLogSize, required)   \
  X(get_info_log, nvJitLinkGetInfoLog, required)

struct NvJitLink::Functions {
  KILN_NVJITLINK_FUNCTIONS(KILN_FUNCTION_MEMBER)
  std::string text = "nvJitLink";
  // Asked at the first link, since it takes the library's lock: a child that is forked meanwhile would have that for good.
  mutable std::once_flag asked;
  mutable bool has_own_cache = true;
};

namespace {

std::optional<std::pair<unsigned, unsigned>> version_of(const SharedLibrary& library) {
  const auto ask =
      reinterpret_cast<decltype(&::nvJitLinkVersion)>(library.symbol("nvJitLinkVersion"));
  std::pair<unsigned, unsigned> version;
  if (ask == nullptr || ask(&version.first, &version.second) != NVJITLINK_SUCCESS)
    return std::nullopt;
  return version;
}

nvJitLinkInputType input_type(ImageKind kind) {
  switch (kind) {
    case ImageKind::cubin:
      return NVJITLINK_INPUT_CUBIN;
    case ImageKind::ptx:
      return NVJITLINK_INPUT_PTX;
    case ImageKind::ltoir:
      return NVJITLINK_INPUT_LTOIR;
    default:
      return NVJITLINK_INPUT_NONE;
  }
}

ErrorCode code_of(nvJitLinkResult result) {
  switch (result) {
    case NVJITLINK_ERROR_UNRECOGNIZED_OPTION:
    case NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS:
      return ErrorCode::invalid_option;
    case NVJITLINK_ERROR_UNRECOGNIZED_ARCH:
    case NVJITLINK_ERROR_UNSUPPORTED_ARCH:
      return ErrorCode::unknown_arch;
    default:
      return ErrorCode::link_failed;
  }
}

// Asks the library itself, since its version does not tell.
template <class Functions>
bool knows_option(const Functions& functions, const char* option) {
  std::array<const char*, 2> options{"-arch=sm_90", option};
  nvJitLinkHandle handle = nullptr;
  const auto result = functions.create(&handle, options.size(), options.data());
  if (handle != nullptr) functions.destroy(&handle);
  return result != NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
}

}  // namespace

Result<NvJitLink> NvJitLink::open(const LibrarySearch& search) {
  const auto library = open_library(wanted, search);
  if (!library) return tl::unexpected(library.error());
  auto functions = std::make_shared<Functions>();
  auto& table = *functions;
  std::string suffix;
  if (const auto version = version_of(*library)) {
    suffix = fmt::format("_{}_{}", version->first, version->second);
    table.text = fmt::format("nvJitLink {}.{}", version->first, version->second);
  }
  // The header gives each function the name of its own version, and calls the plain name by inline
  // functions. A library has the plain names too, for what was built before there were versions.
  Binder binder([&](const std::string& name) {
    void* symbol = suffix.empty() ? nullptr : library->symbol(("__" + name + suffix).c_str());
    return symbol != nullptr ? symbol : library->symbol(name.c_str());
  });
  KILN_NVJITLINK_FUNCTIONS(KILN_FUNCTION_BIND)
  if (!binder.missing().empty())
    return unusable(wanted, *search.files, "it has no function " + binder.missing());
  return NvJitLink(std::move(functions));
}

bool NvJitLink::has_own_cache() const {
  const auto& table = *functions_;
  std::call_once(table.asked, [&] { table.has_own_cache = knows_option(table, "-no-cache"); });
  return table.has_own_cache;
}

namespace {

/// One link from its beginning to its end.
template <class Functions>
class Link {
 public:
  explicit Link(const Functions& functions) : functions_(functions) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (handle_ != nullptr) functions_.destroy(&handle_);
  }

  Result<Linked> run(const std::vector<std::string>& options,
                     const std::vector<LinkerInput>& inputs, bool to_ptx) {
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const auto& option : options) pointers.push_back(option.c_str());
    auto result =
        functions_.create(&handle_, static_cast<std::uint32_t>(pointers.size()), pointers.data());
    if (result != NVJITLINK_SUCCESS) return failure(result);
    for (const auto& input : inputs) {
      result = functions_.add_data(handle_, input_type(input.kind), input.image.data(),
                                   input.image.size(), input.name.c_str());
      if (result != NVJITLINK_SUCCESS) return failure(result);
    }
    result = functions_.complete(handle_);
    if (result != NVJITLINK_SUCCESS) return failure(result);
    auto image = to_ptx ? read_text(handle_, functions_.get_ptx_size, functions_.get_ptx)
                        : read_bytes(handle_, functions_.get_cubin_size, functions_.get_cubin);
    if (!image || image->empty()) return failure(NVJITLINK_ERROR_INTERNAL);
    return Linked{std::move(*image), log()};
  }

 private:
  std::string log() const {
    if (handle_ == nullptr) return {};
    auto text =
        read_text(handle_, functions_.get_error_log_size, functions_.get_error_log).value_or("");
    const auto remarks =
        read_text(handle_, functions_.get_info_log_size, functions_.get_info_log).value_or("");
    if (!text.empty() && !remarks.empty() && text.back() != '\n') text += '\n';
    return text + remarks;
  }

  tl::unexpected<Error> failure(nvJitLinkResult result) const {
    auto text = log();
    auto first_line = text.empty() ? fmt::format("it fails with error {}", static_cast<int>(result))
                                   : text.substr(0, text.find('\n'));
    return fail(code_of(result), std::move(first_line), std::move(text), result);
  }

  const Functions& functions_;
  nvJitLinkHandle handle_ = nullptr;
};

}  // namespace

Result<Linked> NvJitLink::link(const std::vector<std::string>& options,
                               const std::vector<LinkerInput>& inputs, bool to_ptx) const {
  return Link(*functions_).run(options, inputs, to_ptx);
}

#else

struct NvJitLink::Functions {
  std::string text;
};

Result<NvJitLink> NvJitLink::open(const LibrarySearch&) {
  return fail(ErrorCode::compiler_missing,
              "this kiln was built without nvJitLink.h, so it links nothing: build it where the "
              "package nvidia-nvjitlink or a CUDA toolkit is installed");
}

bool NvJitLink::has_own_cache() const { return false; }

Result<Linked> NvJitLink::link(const std::vector<std::string>&, const std::vector<LinkerInput>&,
                               bool) const {
  return fail(ErrorCode::compiler_missing, "this kiln was built without nvJitLink.h");
}

#endif

const std::string& NvJitLink::text() const noexcept { return functions_->text; }

NvJitLink::NvJitLink(std::shared_ptr<const Functions> functions) noexcept
    : functions_(std::move(functions)) {}

}  // namespace kiln::vendor
