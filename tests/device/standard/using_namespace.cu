// Names without std:: in front, as some kernels have them: NVRTC's own and the standard headers' must not
// contradict each other.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

using namespace std;

struct Ordered {
  float key;
  __host__ __device__ bool operator<(const Ordered& other) const { return key < other.key; }
};

template <typename T, typename = typename enable_if<is_floating_point<T>::value>::type>
__device__ T positive(T x) {
  return max(x, T(0));
}

extern "C" __global__ void using_namespace(float* x, double* d, int64_t* n, Ordered* o) {
  x[0] = positive(x[1]) + numeric_limits<float>::max() + sqrt(x[2]) + exp(x[3]) + pow(x[2], 2);
  x[1] = abs(x[0]) + fabs(x[1]) + floor(x[2]) + fmax(x[0], x[2]) + round(x[3]) + hypot(x[0], x[1]);
  x[2] = isnan(x[1]) || isinf(d[0]) || signbit(x[0]) ? log2(x[3]) : fma(x[0], x[1], x[2]);
  d[0] = fabs(d[1]) + numeric_limits<double>::infinity();
  n[0] = min(n[1], n[2]) + abs(n[3]);
  o[0] = max(o[1], move(o[2]));
  swap(o[0], o[1]);
  const tuple<int, float> pair_of(1, 2.0f);
  const array<size_t, 2> sizes{1, 2};
  x[3] = get<1>(pair_of) + sizes[0];
}
