#include "vendor/driver.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "vendor/function_table.h"

namespace kiln::vendor {
namespace {

/// What to do about an error that its name alone does not explain; empty for most.
const char* remedy_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
      return "; CUDA does not work in a child that was forked after it was used, nor while a "
             "process "
             "ends: start a new process instead";
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return "; the context was destroyed or its device reset: make another one current, and "
             "launch "
             "in one of its streams";
    default:
      return "";
  }
}

/// The names of errors that come up where there is no driver to ask, or a stub that answers with a null
/// string.
const char* known_error_name(CUresult result) {
#define KILN_KNOWN(name) std::pair(name, #name)
  constexpr std::array known{KILN_KNOWN(CUDA_ERROR_OUT_OF_MEMORY),
                             KILN_KNOWN(CUDA_ERROR_NOT_INITIALIZED),
                             KILN_KNOWN(CUDA_ERROR_STUB_LIBRARY),
                             KILN_KNOWN(CUDA_ERROR_DEVICE_UNAVAILABLE),
                             KILN_KNOWN(CUDA_ERROR_NO_DEVICE),
                             KILN_KNOWN(CUDA_ERROR_INVALID_DEVICE),
                             KILN_KNOWN(CUDA_ERROR_NOT_FOUND),
                             KILN_KNOWN(CUDA_ERROR_OPERATING_SYSTEM),
                             KILN_KNOWN(CUDA_ERROR_SYSTEM_NOT_READY),
                             KILN_KNOWN(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
                             KILN_KNOWN(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE),
                             KILN_KNOWN(CUDA_ERROR_UNKNOWN)};
#undef KILN_KNOWN
  const auto* found = std::find_if(known.begin(), known.end(),
                                   [&](const auto& error) { return error.first == result; });
  return found != known.end() ? found->second : "CUDA error";
}

std::string describe_error(CUresult result, PFN_cuGetErrorName_v6000 ask) {
  const char* name = nullptr;
  if (ask == nullptr || ask(result, &name) != CUDA_SUCCESS || name == nullptr) {
    name = known_error_name(result);
  }
  return fmt::format("{} ({})", name, static_cast<int>(result));
}

/// Why a library that was opened is not the driver, or is one that cannot be used.
struct Refusal {
  std::string why;
  CUresult result = CUDA_SUCCESS;
  bool final = false;  ///< It is a driver, so that looking further would not help.
};

template <class Value>
using Attempt = tl::expected<Value, Refusal>;

Attempt<Driver::Functions> resolve_functions(const SharedLibrary& library) {
  const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(library.symbol("cuGetProcAddress_v2"));
  if (get == nullptr) {
    return tl::unexpected(Refusal{"has no cuGetProcAddress_v2: no driver, or older than CUDA 12"});
  }
  Driver::Functions functions;
  std::string missing;
  CUresult answer = CUDA_SUCCESS;
  const auto resolve = [&](auto& function, const char* name, int version, Need need) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    const CUresult result =
        get(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    if (result == CUDA_SUCCESS && address != nullptr) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    } else if (need == Need::required && missing.empty()) {
      missing = name;
      answer = result;
    }
  };
#define KILN_DRIVER_RESOLVE(member, name, version, need) \
  resolve(functions.member, #name, version, Need::need);
  KILN_DRIVER_FUNCTIONS(KILN_DRIVER_RESOLVE)
#undef KILN_DRIVER_RESOLVE
  if (missing.empty()) return functions;
  if (answer == CUDA_ERROR_STUB_LIBRARY) {
    return tl::unexpected(
        Refusal{"is the toolkit's stub: " + describe_error(answer, nullptr), answer});
  }
  return tl::unexpected(Refusal{fmt::format("has no {}: older than CUDA 12", missing)});
}

Attempt<std::shared_ptr<const Driver>> initialise(const SharedLibrary& library) {
  const auto functions = resolve_functions(library);
  if (!functions) return tl::unexpected(functions.error());
  const auto refuse = [&](const char* call, CUresult result) {
    const std::string name = describe_error(result, functions->get_error_name);
    return tl::unexpected(Refusal{fmt::format("{} answered {}", call, name), result,
                                  result != CUDA_ERROR_STUB_LIBRARY});
  };
  int version = 0;
  int devices = 0;
  if (const CUresult result = functions->init(0); result != CUDA_SUCCESS) {
    return refuse("cuInit", result);
  }
  if (const CUresult result = functions->driver_get_version(&version); result != CUDA_SUCCESS) {
    return refuse("cuDriverGetVersion", result);
  }
  if (const CUresult result = functions->device_get_count(&devices); result != CUDA_SUCCESS) {
    return refuse("cuDeviceGetCount", result);
  }
  if (devices == 0) return refuse("cuDeviceGetCount", CUDA_ERROR_NO_DEVICE);
  return std::make_shared<const Driver>(*functions, library.path(), version);
}

struct Candidate {
  std::string origin;
  std::string place;
  bool only_if_loaded = false;
};

std::vector<Candidate> candidates(const std::optional<std::filesystem::path>& exact) {
  if (exact) return {{"the driver that was asked for", exact->string()}};
  return {{"already loaded", "libcuda.so.1", true},
          {"the loader's search path", "libcuda.so.1"},
          {"WSL", "/usr/lib/wsl/lib/libcuda.so.1"},
          {"NixOS", "/run/opengl-driver/lib/libcuda.so.1"},
          {"containers", "/usr/local/nvidia/lib64/libcuda.so.1"}};
}

std::string summary(CUresult result, const std::optional<std::filesystem::path>& exact) {
  if (result == CUDA_ERROR_NO_DEVICE) return "the driver sees no device";
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_STUB_LIBRARY)
    return "the driver does not start";
  if (!exact) return "no usable libcuda.so.1 was found";
  std::error_code unknown;
  const bool named_by_path = exact->has_parent_path();
  if (named_by_path && !std::filesystem::exists(*exact, unknown) && !unknown)
    return fmt::format("there is no file {}", exact->string());
  return "the library asked for is not a usable driver";
}

const char* remedy(CUresult result, bool exact) {
  if (result == CUDA_ERROR_NO_DEVICE) {
    return "Run on a machine with an NVIDIA GPU, and check CUDA_VISIBLE_DEVICES and the "
           "container's "
           "device settings.";
  }
  if (exact) {
    return "Give the path of the machine's own libcuda.so.1 (the toolkit's libcuda.so is only a "
           "stub), "
           "or none at all.";
  }
  return "Install NVIDIA's driver R525 or newer, or set KILN_CUDA_DRIVER to its libcuda.so.1.";
}

}  // namespace

Driver::Driver(Functions functions, std::filesystem::path path, int version)
    : functions_(functions), path_(std::move(path)), version_(version) {}

std::string Driver::error_name(CUresult result) const {
  return describe_error(result, functions_.get_error_name);
}

tl::unexpected<Error> Driver::failure(const std::string& what, CUresult result) const {
  return fail(ErrorCode::driver_failed, what + ": " + error_name(result) + remedy_of(result), {},
              static_cast<int>(result));
}

Result<CUdevice> Driver::current_device() const {
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUresult result = functions_.ctx_get_current(&context);
  if (result == CUDA_SUCCESS) {
    result =
        context != nullptr ? functions_.ctx_get_device(&device) : functions_.device_get(&device, 0);
  }
  if (result != CUDA_SUCCESS) return failure("cannot tell the current device", result);
  return device;
}

Result<Device> Driver::describe(CUdevice handle) const {
  Device device;
  device.handle = handle;
  CUresult result = functions_.device_get_attribute(
      &device.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
  if (result == CUDA_SUCCESS) {
    result = functions_.device_get_attribute(&device.minor,
                                             CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
  }
  std::array<char, 256> name{};
  if (result == CUDA_SUCCESS) {
    result = functions_.device_get_name(name.data(), name.size() - 1, handle);
  }
  if (result != CUDA_SUCCESS)
    return failure(fmt::format("cannot tell what device {} is", handle), result);
  device.name = name.data();
  return device;
}

Result<std::vector<Device>> Driver::describe_devices() const {
  int count = 0;
  CUresult result = functions_.device_get_count(&count);
  std::vector<Device> devices;
  for (int ordinal = 0; ordinal < count && result == CUDA_SUCCESS; ++ordinal) {
    CUdevice handle = 0;
    result = functions_.device_get(&handle, ordinal);
    if (result != CUDA_SUCCESS) break;
    auto device = describe(handle);
    if (!device) return tl::unexpected(std::move(device.error()));
    devices.push_back(std::move(*device));
  }
  if (result != CUDA_SUCCESS) return failure("cannot tell which devices there are", result);
  return devices;
}

Result<Device> Driver::describe_current_device() const {
  const auto device = current_device();
  if (!device) return tl::unexpected(device.error());
  return describe(*device);
}

Outcome Driver::ensure_context(CUdevice device) const {
  CUcontext context = nullptr;
  CUresult result = functions_.ctx_get_current(&context);
  if (result == CUDA_SUCCESS && context != nullptr) return {};
  if (result == CUDA_SUCCESS) result = functions_.device_primary_ctx_retain(&context, device);
  if (result == CUDA_SUCCESS) result = functions_.ctx_set_current(context);
  if (result != CUDA_SUCCESS) return failure("cannot make the device's context current", result);
  return {};
}

// The legacy stream would have to wait for a stream of the context that is being captured. So the driver
// answers the question about it with this error, which spoils nothing.
bool Driver::loading_spoils_a_capture() const noexcept {
  constexpr int loads_while_capturing = 12030;
  if (version_ >= loads_while_capturing) return false;
  CUcontext context = nullptr;
  if (functions_.ctx_get_current(&context) != CUDA_SUCCESS || context == nullptr) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return functions_.stream_is_capturing(CU_STREAM_LEGACY, &status) ==
         CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

Result<std::shared_ptr<const Driver>> open_driver(
    const std::optional<std::filesystem::path>& exact) {
  std::vector<SearchStep> steps;
  CUresult last = CUDA_SUCCESS;
  for (const auto& [origin, place, only_if_loaded] : candidates(exact)) {
    const auto library =
        only_if_loaded ? SharedLibrary::already_loaded(place) : SharedLibrary::open(place);
    if (!library) {
      steps.push_back({origin, place, library.error().message});
      continue;
    }
    auto driver = initialise(*library);
    if (driver) return std::move(*driver);
    steps.push_back({origin, library->path().string(), driver.error().why});
    last = driver.error().result;
    if (driver.error().final) break;
  }
  return fail(ErrorCode::driver_missing,
              fmt::format("CUDA driver: not available (compile-only mode): {}.\n{}\n{}",
                          summary(last, exact), describe(steps), remedy(last, exact.has_value())),
              {}, static_cast<int>(last));
}

tl::unexpected<Error> driver_of_parent() {
  constexpr auto result = CUDA_ERROR_NOT_INITIALIZED;
  return fail(ErrorCode::driver_failed,
              fmt::format("CUDA driver: {} ({}){}", known_error_name(result),
                          static_cast<int>(result), remedy_of(result)),
              {}, static_cast<int>(result));
}

}  // namespace kiln::vendor
