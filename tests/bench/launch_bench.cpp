// What a launch costs the host: kiln's beside the same driver call made by hand, and beside a launch path
// that finds its kernel by name and collects its arguments in containers. All into a driver that does
// nothing. Each pair is measured in turns, in batches; the counters give medians in nanoseconds a launch,
// their differences and ratios, and how often a launch asked the heap for memory.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>

#include "kiln/launch.h"
#include "launch/kernel_record.h"
#include "launch_comparison.h"

namespace kiln::bench {
namespace {

CUresult CUDAAPI launch_nothing(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI launch_nothing_with_attributes(const CUlaunchConfig*, CUfunction, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI refuse_device_attribute(int*, CUdevice_attribute, CUdevice) {
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI refuse_kernel_attribute(int*, CUfunction_attribute, CUkernel, CUdevice) {
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI current_context(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(0x1000);
  return CUDA_SUCCESS;
}

std::shared_ptr<const vendor::Driver> driver_that_does_nothing() {
  vendor::Driver::Functions functions;
  functions.launch_kernel = launch_nothing;
  functions.launch_kernel_ex = launch_nothing_with_attributes;
  functions.device_get_attribute = refuse_device_attribute;
  functions.kernel_get_attribute = refuse_kernel_attribute;
  functions.ctx_get_current = current_context;
  return std::make_shared<const vendor::Driver>(functions, "none", 13000);
}

/// A kernel that takes values of these types.
template <class... Ts>
KernelRecord record_of() {
  KernelRecord record;
  record.info.expression = "kernel";
  record.info.params_known = true;
  for (const auto& place : detail::Signature<Ts...>::layout)
    record.info.params.push_back({place.offset, place.size});
  record.driver = driver_that_does_nothing();
  return record;
}

struct Shape {
  std::array<std::int64_t, 8> sizes;
};

/// What launches here launch with. Not static, and escaped, so that no value is known to the compiler.
struct Values {
  float* x = reinterpret_cast<float*>(0x7f0000001000);
  float* w = reinterpret_cast<float*>(0x7f0000002000);
  float* y = reinterpret_cast<float*>(0x7f0000003000);
  std::int64_t n = 4096;
  std::int32_t rows = 12;
  std::int32_t columns = 7;
  float eps = 1e-5F;
  double scale = 0.5;
  bool flag = true;
  Shape shape{};
  LaunchConfig config{.grid = {64}, .block = {256}};
  CUstream stream = nullptr;

  Values() { benchmark::DoNotOptimize(this); }
};

/// The call that anybody would write.
template <class... Ts>
bool launch_by_hand(const KernelRecord& record, const Values& v, const Ts&... values) {
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&values))...};
  return record.driver->functions().launch_kernel(
             reinterpret_cast<CUfunction>(record.kernel), v.config.grid.x, v.config.grid.y,
             v.config.grid.z, v.config.block.x, v.config.block.y, v.config.block.z,
             v.config.shared_bytes, v.stream, pointers, nullptr) == CUDA_SUCCESS;
}

template <class... Ts>
void beside_by_hand(benchmark::State& state, const Values& v, const Ts&... values) {
  const KernelRecord record = record_of<Ts...>();
  const Kernel kernel(record);
  compare(
      state, [&] { return launch_by_hand(record, v, values...); },
      [&] { return kernel.launch(v.stream, v.config, values...).has_value(); });
}

void five_arguments(benchmark::State& state) {
  const Values v;
  beside_by_hand(state, v, v.x, v.w, v.y, v.n, v.eps);
}

void twenty_arguments(benchmark::State& state) {
  const Values v;
  beside_by_hand(state, v, v.x, v.w, v.y, v.n, v.eps, v.rows, v.columns, v.scale, v.flag, v.shape,
                 v.x, v.w, v.y, v.n, v.eps, v.rows, v.columns, v.scale, v.flag, v.shape);
}

using Five = KernelRecord (*)();
constexpr Five record_of_five = record_of<float*, float*, float*, std::int64_t, float>;

void five_arguments_unchecked(benchmark::State& state) {
  const Values v;
  const KernelRecord record = record_of_five();
  const Kernel kernel(record);
  compare(
      state, [&] { return launch_by_hand(record, v, v.x, v.w, v.y, v.n, v.eps); },
      [&] {
        return kernel.launch<std::false_type>(v.stream, v.config, v.x, v.w, v.y, v.n, v.eps)
            .has_value();
      });
}

void five_in_an_args_made_before(benchmark::State& state) {
  const Values v;
  const KernelRecord record = record_of_five();
  const Kernel kernel(record);
  const Args args(v.x, v.w, v.y, v.n, v.eps);
  compare(
      state, [&] { return launch_by_hand(record, v, v.x, v.w, v.y, v.n, v.eps); },
      [&] { return kernel.launch(v.stream, v.config, args).has_value(); });
}

void five_in_an_args_made_for_it(benchmark::State& state) {
  const Values v;
  const KernelRecord record = record_of_five();
  const Kernel kernel(record);
  compare(
      state, [&] { return launch_by_hand(record, v, v.x, v.w, v.y, v.n, v.eps); },
      [&] {
        return kernel.launch(v.stream, v.config, Args(v.x, v.w, v.y, v.n, v.eps)).has_value();
      });
}

void five_arguments_with_a_cluster(benchmark::State& state) {
  Values v;
  v.config.cluster = {2};
  const KernelRecord record = record_of_five();
  const Kernel kernel(record);
  compare(
      state, [&] { return launch_by_hand(record, v, v.x, v.w, v.y, v.n, v.eps); },
      [&] { return kernel.launch(v.stream, v.config, v.x, v.w, v.y, v.n, v.eps).has_value(); });
}

/// A launch path as some frameworks have it: names are put together for each launch, module and kernel
/// are found by them, arguments go into a deque of variants and a vector of pointers that grows.
class LaunchByName {
 public:
  explicit LaunchByName(const vendor::Driver::Functions& functions) : functions_(functions) {
    for (const char* operation : {"Add", "Multiply", "Exp", "RMSNorm", "Softmax"}) {
      for (const char* type : {"float32", "float16", "bfloat16"}) {
        add(operation, type);
      }
    }
  }

  bool launch(const Values& v, const std::string& operation, const std::string& type) const {
    const std::string module_name = module_of(operation, type);
    const auto module = modules_.find(module_name);
    if (module == modules_.end()) return false;
    const std::string kernel_name = kernel_of(operation, type);
    const auto kernel = module->second.find(kernel_name);
    if (kernel == module->second.end()) return false;
    Collected collected;
    collected.append(v.x);
    collected.append(v.w);
    collected.append(v.y);
    collected.append(v.n);
    collected.append(v.eps);
    return functions_.launch_kernel(kernel->second, v.config.grid.x, v.config.grid.y,
                                    v.config.grid.z, v.config.block.x, v.config.block.y,
                                    v.config.block.z, v.config.shared_bytes, v.stream,
                                    collected.pointers.data(), nullptr) == CUDA_SUCCESS;
  }

 private:
  using Value = std::variant<bool, void*, std::int32_t, std::uint32_t, std::int64_t, float,
                             std::array<std::int64_t, 8>>;

  struct Collected {
    std::deque<Value> values;
    std::vector<void*> pointers;

    template <class T>
    void append(T value) {
      if constexpr (std::is_pointer_v<T>) {
        values.emplace_back(static_cast<void*>(value));
      } else {
        values.emplace_back(value);
      }
      pointers.push_back(std::visit([](auto& held) -> void* { return &held; }, values.back()));
    }
  };

  static std::string module_of(const std::string& operation, const std::string& type) {
    return "compiled_" + operation + "_" + type;
  }
  static std::string kernel_of(const std::string& operation, const std::string& type) {
    return "engine::cu::" + operation + "<" + type + ", int64_t, " + std::to_string(4) + ">";
  }
  void add(const std::string& operation, const std::string& type) {
    modules_[module_of(operation, type)][kernel_of(operation, type)] = nullptr;
  }

  const vendor::Driver::Functions& functions_;
  std::unordered_map<std::string, std::unordered_map<std::string, CUfunction>> modules_;
};

void five_arguments_beside_launch_by_name(benchmark::State& state) {
  const Values v;
  const KernelRecord record = record_of_five();
  const Kernel kernel(record);
  const LaunchByName by_name(record.driver->functions());
  const std::string operation = "RMSNorm";
  const std::string type = "float32";
  compare(
      state, [&] { return by_name.launch(v, operation, type); },
      [&] { return kernel.launch(v.stream, v.config, v.x, v.w, v.y, v.n, v.eps).has_value(); });
}

BENCHMARK(five_arguments)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(twenty_arguments)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(five_arguments_beside_launch_by_name)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(five_arguments_unchecked)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(five_in_an_args_made_before)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(five_in_an_args_made_for_it)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(five_arguments_with_a_cluster)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kiln::bench

BENCHMARK_MAIN();
