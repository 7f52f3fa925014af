// The JIT module of an engine, as large as one needs to be: sources that are generated, instances that are learnt at run
// time, kernels by the engine's own names, graphs, tensor maps by value.
//
//     jit_module compiled    expects that kernels are compiled
//     jit_module served      expects that none is, and that no source is generated

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <kiln/kiln.h>

namespace {

// As cuda.h's CUtensorMap, which an engine has from there.
struct alignas(64) TensorMap {
  std::uint64_t opaque[16];
};

class JitModule {
 public:
  explicit JitModule(kiln::Runtime runtime) : runtime_(std::move(runtime)) {}

  // The kernel of an operation for a type, e.g. "mul" and "float".
  kiln::Kernel elementwise(const std::string& operation, const std::string& type) {
    const auto name = operation + ":" + type;
    if (const auto known = kernels_.find(name)) return *known;
    return remember(name, runtime_.kernel(elementwise_, operation + "<" + type + ">"));
  }

  kiln::Kernel tiled_copy() {
    if (const auto known = kernels_.find("tiled_copy")) return *known;
    return remember("tiled_copy", runtime_.kernel(tiled_copy_, "tiled_copy"));
  }

  int sources_made() const { return sources_made_; }
  kiln::RuntimeCounters counters() const { return runtime_.counters(); }

 private:
  kiln::Kernel remember(const std::string& name, kiln::Result<kiln::Kernel> kernel) {
    kernels_.set(name, kernel.value());
    return *kernel;
  }

  std::string generate() {
    ++sources_made_;
    std::string source = "#include <kiln/vec.cuh>\n";
    for (const auto& [name, sign] :
         {std::pair("add", "+"), std::pair("sub", "-"), std::pair("mul", "*")}) {
      source += std::string("template <class T> __global__ void ") + name +
                "(const T* a, const T* b, T* y, int n) {\n"
                "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "  if (i < n) y[i] = a[i] " +
                sign + " b[i];\n}\n";
    }
    return source;
  }

  kiln::Runtime runtime_;
  int sources_made_ = 0;
  const kiln::Program elementwise_ =
      kiln::Program::make({.name = "elementwise.cu",
                           .headers = {kiln::device_headers()},
                           .options = {"--std=c++17"},
                           .source_word = "elementwise 1",
                           .make_source = [this] { return generate(); },
                           .extends = true})
          .value();
  const kiln::Program tiled_copy_ =
      kiln::Program::make({.name = "tiled_copy.cu",
                           .source = "struct alignas(64) Map { unsigned long long opaque[16]; };\n"
                                     "extern \"C\" __global__ void tiled_copy(const "
                                     "__grid_constant__ Map map, float* y) {\n"
                                     "  extern __shared__ float tile[];\n"
                                     "  tile[threadIdx.x] = map.opaque[0];\n"
                                     "  __syncthreads();\n"
                                     "  y[threadIdx.x] = tile[threadIdx.x];\n}\n",
                           .kernels = {"tiled_copy"}})
          .value();
  kiln::NamedKernels kernels_;
};

int wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool served = argc > 1 && std::strcmp(argv[1], "served") == 0;
  JitModule jit(kiln::Runtime::open({.engine = "jit_module 1"}).value());
  float* const data = nullptr;
  const CUstream stream = nullptr;

  // A step of inference: the first goes through the runtime, the others only find their kernels.
  for (int step = 0; step < 100; ++step) {
    for (const auto* type : {"float", "double"})
      jit.elementwise("mul", type)
          .launch(stream, {.grid = {8}, .block = {256}}, data, data, data, 2048)
          .value();
  }
  if (jit.elementwise("mul", "float").launch(stream, {}, data, data, data, 2048.0F))
    return wrong("a float was taken for an int");

  // Occupancy decides the block; large dynamic shared memory, clusters and the carve-out are set with the launch.
  const auto copy = jit.tiled_copy();
  const auto block = copy.best_block_size().value().threads;
  const kiln::LaunchConfig config{.grid = {4},
                                  .block = {block},
                                  .shared_bytes = 64 * 1024,
                                  .cluster = {2},
                                  .cooperative = true,
                                  .shared_carveout = 100};
  copy.launch(stream, config, TensorMap{{42}}, data).value();
  if (copy.native_handle() == nullptr) return wrong("no handle of the driver's");

  // A node of the engine's own graph. (Any pointer is a graph to the driver that this is tested with.)
  const auto graph = reinterpret_cast<CUgraph>(0x10);
  const kiln::LaunchConfig node_config{.grid = {4}, .block = {block}, .shared_bytes = 64 * 1024};
  const auto node =
      kiln::add_kernel_node(graph, {}, copy, node_config, kiln::Args(TensorMap{{42}}, data))
          .value();
  kiln::set_kernel_node(node, copy, node_config, kiln::Args(TensorMap{{43}}, data)).value();

  const auto counters = jit.counters();
  std::printf("%llu compiled, %d sources made\n",
              static_cast<unsigned long long>(counters.compiles), jit.sources_made());
  if (served) return counters.compiles == 0 && jit.sources_made() == 0 ? 0 : wrong("not served");
  return counters.compiles == 3 && jit.sources_made() == 1 ? 0 : wrong("not compiled");
}
