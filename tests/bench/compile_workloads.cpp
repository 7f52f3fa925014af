#include "compile_workloads.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "decoder_block.h"
#include "kiln/headers.h"
#include "kiln/program.h"

namespace kiln::bench {
namespace {

using nlohmann::json;

/// A kernel template "kernel<T, threads>", and the headers that it begins with.
struct Template {
  const char* kernel;
  const char* source;
};

// Of the last two, a workload takes one.
constexpr std::array<Template, 5> cub_templates{{
    {"reduce", R"(#include <cub/block/block_reduce.cuh>
template <class T, int threads> __global__ void reduce(const T* x, T* y) {
  using Reduce = cub::BlockReduce<T, threads>;
  __shared__ typename Reduce::TempStorage storage;
  const T total = Reduce(storage).Sum(x[blockIdx.x * threads + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
)"},
    {"scan", R"(#include <cub/block/block_scan.cuh>
template <class T, int threads> __global__ void scan(const T* x, T* y) {
  using Scan = cub::BlockScan<T, threads>;
  __shared__ typename Scan::TempStorage storage;
  T value = x[blockIdx.x * threads + threadIdx.x];
  Scan(storage).InclusiveSum(value, value);
  y[blockIdx.x * threads + threadIdx.x] = value;
}
)"},
    {"transpose", R"(#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
template <class T, int threads> __global__ void transpose(const T* x, T* y) {
  using Load = cub::BlockLoad<T, threads, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<T, threads, 4, cub::BLOCK_STORE_DIRECT>;
  __shared__ typename Load::TempStorage storage;
  T values[4];
  Load(storage).Load(x + blockIdx.x * threads * 4, values);
  Store().Store(y + blockIdx.x * threads * 4, values);
}
)"},
    {"warp_reduce", R"(#include <cub/warp/warp_reduce.cuh>
template <class T, int threads> __global__ void warp_reduce(const T* x, T* y) {
  using Reduce = cub::WarpReduce<T>;
  __shared__ typename Reduce::TempStorage storage[threads / 32];
  const T total = Reduce(storage[threadIdx.x / 32]).Sum(x[blockIdx.x * threads + threadIdx.x]);
  if (threadIdx.x % 32 == 0) y[(blockIdx.x * threads + threadIdx.x) / 32] = total;
}
)"},
    {"sort", R"(#include <cub/block/block_radix_sort.cuh>
template <class T, int threads> __global__ void sort(T* x) {
  using Sort = cub::BlockRadixSort<T, threads, 1>;
  __shared__ typename Sort::TempStorage storage;
  T keys[1] = {x[blockIdx.x * threads + threadIdx.x]};
  Sort(storage).Sort(keys);
  x[blockIdx.x * threads + threadIdx.x] = keys[0];
}
)"},
}};

constexpr std::array<std::string_view, 4> element_types{"int", "unsigned", "float", "double"};
constexpr std::array<int, 4> block_sizes{64, 128, 256, 512};

json one_kernel(std::string name, std::string source, std::string expression) {
  return {{"name", std::move(name)},
          {"source", std::move(source)},
          {"kernels", {std::move(expression)}},
          {"options", {"--std=c++17"}}};
}

std::string manifest_of(json programs, std::vector<std::string> targets) {
  return json{
      {"kiln_manifest", 1}, {"targets", std::move(targets)}, {"programs", std::move(programs)}}
      .dump();
}

json listed(const ProgramSpec& spec) {
  json headers = json::object();
  for (const auto& set : spec.headers) {
    // These come with every program of a manifest.
    if (set.headers().data() == device_headers().headers().data()) continue;
    for (const auto& header : set.headers()) headers[std::string(header.name)] = header.text();
  }
  return {{"name", spec.name},
          {"source", spec.source},
          {"headers", std::move(headers)},
          {"kernels", spec.kernels},
          {"options", spec.options}};
}

std::vector<ProgramSpec> demo_programs(bool small) {
  auto programs = demo::decoder_block();
  if (small) programs.resize(2);
  return programs;
}

// Of these templates, by their places above.
std::string manifest_of_cub(std::vector<std::size_t> templates, bool small) {
  json programs = json::array();
  if (small) templates.resize(1);
  const std::size_t sizes = small ? 1 : block_sizes.size();
  for (std::size_t size = 0; size < sizes; ++size) {
    for (const auto type : element_types) {
      for (const auto which : templates) {
        const auto& [kernel, source] = cub_templates[which];
        const auto threads = std::to_string(block_sizes[size]);
        const auto expression =
            std::string(kernel) + '<' + std::string(type) + ", " + threads + '>';
        const auto name = std::string(kernel) + '_' + std::string(type) + '_' + threads + ".cu";
        programs.push_back(one_kernel(name, source, expression));
      }
    }
  }
  return manifest_of(std::move(programs), {"sm_90a"});
}

}  // namespace

std::string cub_manifest(bool small) { return manifest_of_cub({0, 1, 2, 3}, small); }

std::string cub_with_sort_manifest(bool small) { return manifest_of_cub({0, 1, 2, 4}, small); }

std::string demo_manifest(bool small) {
  json programs = json::array();
  for (const auto& spec : demo_programs(small)) programs.push_back(listed(spec));
  return manifest_of(std::move(programs), {"sm_80", "sm_90a", "sm_100"});
}

std::string demo_kernels_alone_manifest(bool small) {
  json programs = json::array();
  for (const auto& spec : demo_programs(small)) {
    for (const auto& kernel : spec.kernels) {
      auto alone = spec;
      alone.kernels = {kernel};
      programs.push_back(listed(alone));
    }
  }
  return manifest_of(std::move(programs), {"sm_80", "sm_90a"});
}

}  // namespace kiln::bench
