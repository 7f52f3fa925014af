#include "gpu.h"

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "vendor/shared_library.h"

namespace kiln::gpu {
namespace {

Functions resolve(const vendor::Driver& driver) {
  const auto library = vendor::SharedLibrary::open(driver.path().string()).value();
  const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(library.symbol("cuGetProcAddress_v2"));
  Functions functions;
  const auto find = [&](auto& function, const char* name, int version) {
    void* address = nullptr;
    check(get(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, nullptr));
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define KILN_GPU_TEST_RESOLVE(member, name, version) find(functions.member, #name, version);
  KILN_GPU_TEST_FUNCTIONS(KILN_GPU_TEST_RESOLVE)
#undef KILN_GPU_TEST_RESOLVE
  return functions;
}

Machine open_machine() {
  auto driver = vendor::open_driver(std::nullopt);
  if (!driver) return {nullptr, {}, driver.error().message};
  return {*driver, resolve(**driver), {}};
}

}  // namespace

const Machine& Machine::get() {
  static const Machine machine = open_machine();
  return machine;
}

void check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error("the driver answered " + std::to_string(static_cast<int>(result)));
}

DeviceBytes::DeviceBytes(std::size_t size) {
  const Functions& functions = Machine::get().functions;
  check(functions.mem_alloc(&address_, size));
  check(functions.memset_8(address_, 0, size));
}

DeviceBytes::~DeviceBytes() { static_cast<void>(Machine::get().functions.mem_free(address_)); }

void DeviceBytes::read_bytes(void* to, std::size_t size) const {
  const Functions& functions = Machine::get().functions;
  check(functions.ctx_synchronize());
  check(functions.memcpy_to_host(to, address_, size));
}

void DeviceBytes::write_bytes(const void* from, std::size_t size) const {
  check(Machine::get().functions.memcpy_to_device(address_, from, size));
}

void GpuTest::SetUp() {
  const Machine& machine = Machine::get();
  if (machine.driver == nullptr) GTEST_SKIP() << machine.reason;
  const auto device = machine.driver->describe_current_device().value();
  ASSERT_TRUE(machine.driver->ensure_context(device.handle).has_value());
  runtime_ = std::make_unique<Runtime>(
      Runtime::open({.cache_disabled = true, .log_level = LogLevel::off}).value());
}

Program GpuTest::program(const std::string& source, std::vector<std::string> expressions) {
  return Program::make({.name = "test.cu",
                        .source = source,
                        .kernels = std::move(expressions),
                        .options = {"--std=c++20"}})
      .value();
}

Kernel GpuTest::kernel(const std::string& source, const std::string& expression) {
  return runtime_->kernel(program(source, {expression}), expression).value();
}

bool GpuTest::device_is_below(int major) const {
  return Machine::get().driver->describe_current_device().value().major < major;
}

}  // namespace kiln::gpu
