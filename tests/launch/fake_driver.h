#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_cuda.h"
#include "kiln/runtime.h"

/// The fake driver's file, for RuntimeOptions::cuda_driver and open_driver().
[[nodiscard]] std::filesystem::path fake_driver_path();

/// A library that answers "stub library" to everything.
[[nodiscard]] std::filesystem::path stub_driver_path();

/// A test that drives kiln through the fake driver: a fresh one, with no context current, for a
/// device of compute capability 9.0 until a test says otherwise.
class FakeDriverTest : public testing::Test {
 protected:
  FakeDriverTest();
  ~FakeDriverTest() override;

  /// An environment variable of the fake, taken back when the test ends.
  void set(const std::string& name, const std::string& value);

  /// A runtime on the fake driver, with nothing on disk.
  [[nodiscard]] static kiln::Runtime open_runtime(kiln::Observer observer = {});

  /// The bytes that the driver received for a parameter.
  [[nodiscard]] std::string received(std::size_t launch, std::size_t position) const;

  /// The bytes of a launch's CUlaunchAttributes.
  [[nodiscard]] std::string received_attributes(std::size_t launch) const;

  decltype(&fake_cuda_launch_count) launch_count_;
  decltype(&fake_cuda_launch) launch_;
  decltype(&fake_cuda_param) param_;
  decltype(&fake_cuda_library_count) library_count_;
  decltype(&fake_cuda_attributes) attributes_;
  decltype(&fake_cuda_run_node) run_node_;
  decltype(&fake_cuda_node_count) node_count_;
  decltype(&fake_cuda_attribute_sets) attribute_sets_;
  decltype(&fake_cuda_capture) capture_;
  decltype(&fake_cuda_functions_loaded) functions_loaded_;
  decltype(&fake_cuda_fail) fail_;
  decltype(&fake_cuda_reset) reset_;

 private:
  std::vector<std::string> variables_;
};

/// The bytes of a value, as a kernel is given them.
template <class T>
[[nodiscard]] std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
