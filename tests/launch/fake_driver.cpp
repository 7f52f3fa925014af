#include "fake_driver.h"

#include <stdlib.h>

#include <utility>

#include "vendor/shared_library.h"

namespace {

template <class Function>
void look_up(Function& function, const char* name) {
  static const auto library = kiln::vendor::SharedLibrary::open(KILN_FAKE_CUDA).value();
  function = reinterpret_cast<Function>(library.symbol(name));
  if (function == nullptr) throw std::runtime_error(std::string("the fake driver has no ") + name);
}

}  // namespace

std::filesystem::path fake_driver_path() { return KILN_FAKE_CUDA; }

std::filesystem::path stub_driver_path() { return KILN_STUB_CUDA; }

FakeDriverTest::FakeDriverTest() {
  look_up(launch_count_, "fake_cuda_launch_count");
  look_up(launch_, "fake_cuda_launch");
  look_up(param_, "fake_cuda_param");
  look_up(library_count_, "fake_cuda_library_count");
  look_up(attributes_, "fake_cuda_attributes");
  look_up(run_node_, "fake_cuda_run_node");
  look_up(node_count_, "fake_cuda_node_count");
  look_up(attribute_sets_, "fake_cuda_attribute_sets");
  look_up(capture_, "fake_cuda_capture");
  look_up(functions_loaded_, "fake_cuda_functions_loaded");
  look_up(fail_, "fake_cuda_fail");
  look_up(reset_, "fake_cuda_reset");
  reset_();
  set("FAKE_CUDA_ARCH", "90");
}

FakeDriverTest::~FakeDriverTest() {
  for (const std::string& name : variables_) unsetenv(name.c_str());
}

void FakeDriverTest::set(const std::string& name, const std::string& value) {
  setenv(name.c_str(), value.c_str(), 1);
  variables_.push_back(name);
}

kiln::Runtime FakeDriverTest::open_runtime(kiln::Observer observer) {
  return kiln::Runtime::open({.cache_disabled = true,
                              .cuda_driver = fake_driver_path(),
                              .log_level = kiln::LogLevel::off,
                              .observer = std::move(observer)})
      .value();
}

std::string FakeDriverTest::received(std::size_t launch, std::size_t position) const {
  const FakeCudaParam param = param_(launch, position);
  return {static_cast<const char*>(param.bytes), param.size};
}

std::string FakeDriverTest::received_attributes(std::size_t launch) const {
  const FakeCudaBytes attributes = attributes_(launch);
  return {static_cast<const char*>(attributes.bytes), attributes.size};
}
