// An engine's JIT module, written from the README and the headers alone; a test runs it twice.
#include <dlfcn.h>

#include <atomic>
#include <future>
#include <iostream>
#include <stdexcept>

#include <cuda.h>
#include <kiln/kiln.h>

// A function of the driver that kiln found; null where the driver lacks it.
#define DRIVER(jit, function) (jit).Driver<decltype(function)>(#function)

// What is written once; a template of it is instantiated when somebody asks for an instance.
constexpr const char* kLibrary = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <kiln/tensor_map.cuh>
template <class To, class From> __global__ void cast(const From* x, To* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<To>(static_cast<float>(x[i]));
}
__global__ void tile(const __grid_constant__ CUtensorMap map, float* y) {
  __shared__ alignas(128) float box[32];
  __shared__ kiln::TransactionBarrier<1> barrier;
  if (threadIdx.x == 0) barrier.init(), barrier.arrive_and_expect(sizeof(box));
  if (threadIdx.x == 0) kiln::load_tensor(box, map, barrier, 0);
  __syncthreads(), barrier.wait(0);
  y[threadIdx.x] = box[threadIdx.x];
})";
constexpr std::array kTypes = {"float", "__half", "__nv_bfloat16"};  // By the engine's numbers.
constexpr unsigned kCount = 1024;
struct FusedOp {
  std::string name, expression;  // The expression is of x0[i], x1[i], ...
  unsigned inputs;
};

std::string Generate(const FusedOp& op) {
  std::string inputs;
  for (unsigned k = 0; k < op.inputs; ++k) inputs += "const float* x" + std::to_string(k) + ", ";
  return "__global__ void " + op.name + "(" + inputs + "float* y, unsigned n) {\n" +
         "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         "  if (i < n) y[i] = " + op.expression + ";\n}\n";
}

// Finds kernels by the engine's names and numbers, from any thread.
struct Jit {
  kiln::Result<kiln::Kernel> Fused(const FusedOp& op) {
    if (const auto kernel = kernels.find(op.name)) return *kernel;
    const auto word = "fused 1: " + std::to_string(op.inputs) + " " + op.expression;
    const auto make = [this, op] { return ++generated, Generate(op); };
    const auto program = kiln::Program::make(
        {.name = op.name, .kernels = {op.name}, .source_word = word, .make_source = make});
    return program ? Get(op.name, *program, op.name) : tl::unexpected(program.error());
  }
  kiln::Result<kiln::Kernel> Cast(unsigned to, unsigned from) {
    const std::uint64_t id = to << 8 | from;
    if (const auto kernel = kernels.find(id)) return *kernel;
    return Get(id, library, std::string("cast<") + kTypes.at(to) + ", " + kTypes.at(from) + ">");
  }
  kiln::Result<kiln::Kernel> Tile() { return Get("tile", library, "tile"); }
  // Threads that come here at once share one compile, which makes the source once.
  kiln::Result<kiln::Kernel> Get(const auto& key, const kiln::Program& in, const auto& name) {
    if (const auto kernel = kernels.find(key)) return *kernel;
    const auto kernel = runtime.kernel(in, name);
    if (kernel) kernels.set(key, *kernel);
    return kernel;
  }
  template <class Function>
  Function* Driver(const char* name) const {
    void* const library = dlopen(runtime.driver().path.c_str(), RTLD_NOW);
    void* found = nullptr;
    const auto get = (decltype(&cuGetProcAddress))dlsym(library, "cuGetProcAddress_v2");
    get(name, &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
    return reinterpret_cast<Function*>(found);
  }
  kiln::Runtime runtime;
  kiln::Program library = kiln::Program::make({.name = "library.cu",
                                               .source = kLibrary,
                                               .headers = std::vector{kiln::device_headers()},
                                               .extends = true})
                              .value();
  kiln::NamedKernels kernels = {};
  std::atomic<unsigned> generated = 0;  // Texts.
};

void Check(bool right, const std::string& what) {
  if (!right) throw std::runtime_error("failed: " + what);
}

int main(int count, char** arguments) try {
  const auto folder = std::filesystem::absolute(count > 1 ? arguments[1] : "cache");
  Jit jit = {kiln::Runtime::open({.cache_directory = folder, .engine = "module 1"}).value()};
  (void)jit.Tile().value().native_function().value();  // Now there is a driver, and a context.
  CUdeviceptr x{}, y{};
  for (auto* at : {&x, &y}) Check(!DRIVER(jit, cuMemAlloc)(at, kCount * 4), "cuMemAlloc");
  const kiln::LaunchConfig config = {.grid = {kCount / 256}, .block = {256}};
  const FusedOp mad = {"mad", "x0[i] * x1[i] + x2[i]", 3}, neg = {"neg", "-x0[i]", 1};
  const auto work = [&] {  // The first round compiles, or reads the cache.
    for (int round = 0; round < 1000; ++round) {
      jit.Fused(mad).value().launch(nullptr, config, x, x, x, y, kCount).value();
      jit.Fused(neg).value().launch(nullptr, config, x, y, kCount).value();
      for (int t : {1, 2}) jit.Cast(t, 0).value().launch(nullptr, config, x, y, kCount).value();
    }
  };
  std::array<std::future<void>, 4> threads;
  for (auto& thread : threads) thread = std::async(std::launch::async, work);
  for (auto& thread : threads) thread.get();

  CUtensorMap map{};
  const cuuint64_t size = kCount;
  const cuuint32_t box = 32, step = 1;
  const auto encode = DRIVER(jit, cuTensorMapEncodeTiled);
  const auto bad_map = encode && encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, (void*)x, &size,
                                        &size, &box, &step, {}, {}, {}, {});
  Check(!bad_map, "cuTensorMapEncodeTiled");
  jit.Tile().value().launch(nullptr, {.block = {box}}, map, y).value();
  std::cout << "tensor_map=" << (encode ? "encoded" : "zeros: the driver does not encode") << '\n';

  CUgraph graph{};
  CUgraphExec executable{};
  const kiln::Args args(x, y, kCount);
  if (const auto create = DRIVER(jit, cuGraphCreate); create && !create(&graph, 0)) {
    const std::array first = {add_kernel_node(graph, {}, *jit.Fused(neg), config, args).value()};
    add_kernel_node(graph, first, *jit.Cast(1, 0), config, args).value();
    Check(!DRIVER(jit, cuGraphInstantiateWithFlags)(&executable, graph, 0), "cuGraphInstantiate");
    Check(!DRIVER(jit, cuGraphLaunch)(executable, nullptr), "cuGraphLaunch");
  }
  std::cout << "graph=" << (executable ? "launched" : "skipped: no cuGraphCreate") << '\n';

  const auto did = jit.runtime.counters();
  const bool second = did.misses == 0 && did.local_hits >= 5;
  std::cout << "compiled=" << did.compiles << "\ngenerated=" << jit.generated
            << "\nkernels=" << jit.kernels.size() << "\norigin=" << (second ? "local" : "compiled")
            << '\n';
  Check(did.compiles == (second ? 0 : 5) && jit.generated == (second ? 0 : 2), "the cache");

  const auto bad = jit.Fused({"bad", "x0[i] +* 2", 1});
  const kiln::Kernel spare = bad ? *bad : jit.Fused(neg).value();  // The engine goes on with it.
  const auto wrong = spare.launch(nullptr, config, x, 1.0f, kCount);
  jit.runtime.set_mode(kiln::Mode::cache_only);
  const auto absent = jit.Cast(1, 1);
  const auto code = [](const auto& r) { return std::string(r ? "ok" : to_string(r.error().code)); };
  const auto errors = code(bad) + " " + code(wrong) + " " + code(absent);
  std::cout << "errors=" << errors << '\n';
  Check(errors == "compile_failed argument_mismatch not_cached", "the errors");
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
