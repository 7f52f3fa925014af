"""What symbols tell of parameters: what the compiler mangled, against what was written."""

import pytest

import kiln
from kiln._signature import parameter_letters

# Source, expression, letters.
KERNELS = [
    ("__global__ void none() {}", "none", []),
    ("__global__ void plain(float* a, const double* b, int c, unsigned d) {}", "plain", ["P", "P", "i", "I"]),
    ("__global__ void wide(long long a, unsigned long long b, long c, size_t d) {}", "wide", ["q", "Q", "q", "Q"]),
    ("__global__ void narrow(bool a, char b, signed char c, unsigned char d, short e, unsigned short f) {}", "narrow",
     ["?", "b", "b", "B", "h", "H"]),
    ("__global__ void numbers(float a, double b) {}", "numbers", ["f", "d"]),
    ("static __global__ void hidden(int a, const float* __restrict__ b) {}", "hidden", ["i", "P"]),
    ("namespace a { namespace b { __global__ void deep(int x, float y) {} } }", "a::b::deep", ["i", "f"]),
    ("namespace { __global__ void unnamed(double x) {} }", "unnamed", ["d"]),
    ("struct S { int a; }; __global__ void own(S s, S* p, const S& r, int n) {}", "own", ["other", "P", "P", "i"]),
    ("enum class E : int { a }; __global__ void en(E e, float x) {}", "en", ["other", "f"]),
    ("template <class T> __global__ void t(T* a, T b, const T* c) {}", "t<float>", ["P", "f", "P"]),
    ("template <class T> __global__ void t(T* a, T b, const T* c) {}", "t<unsigned char>", ["P", "B", "P"]),
    ("template <class T, int N> __global__ void n(const T* a, int b, T c, T* d) {}", "n<double, -4>", ["P", "i", "d", "P"]),
    ("template <class T, bool B> __global__ void n(T a, T* b) {}", "n<short, true>", ["h", "P"]),
    ("template <class T> struct V { T x[4]; }; template <class T> __global__ void v(V<T> a, V<T>* b, V<V<T>> c, T d) {}",
     "v<float>", ["other", "P", "other", "f"]),
    ("template <class T> struct V { T x; }; template <class T> __global__ void v(T a, int b) {}", "v<V<int>>", ["other", "i"]),
    ("template <class... T> __global__ void pack(int first, T... rest) {}", "pack<float, int*, double>", ["i", "f", "P", "d"]),
    ("template <class... T> __global__ void pack(T... rest) {}", "pack<>", []),
    ("namespace a { struct S { float x; }; template <class T> struct V { T x; };"
     " template <class T, class U> __global__ void k(V<T> v, S s, const V<S>* p, U u, T t) {} }", "a::k<a::S, int>",
     ["other", "other", "P", "i", "other"]),
    ("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void h(__half a, const __half* b, __nv_bfloat16 c) {}", "h",
     ["e", "P", "bfloat16"]),
    ("#include <cuda_fp16.h>\ntemplate <class T, int N> __global__ void h(T* a, T b, float c) {}", "h<__half, 4096>",
     ["P", "e", "f"]),
    ("using F = int (*)(int, float); __global__ void f(F f, int n) {}", "f", ["P", "i"]),
    ("__global__ void arrays(int (*rows)[8], float** p, int n) {}", "arrays", ["P", "P", "i"]),
]


@pytest.mark.parametrize("source, expression, letters", KERNELS, ids=[expression for _, expression, _ in KERNELS])
def test_compiled_symbols(runtime, source, expression, letters):
    kernel, = runtime.compile(kiln.Program(source, name="k.cu", kernels=[expression]), "sm_90a").kernels
    assert parameter_letters(kernel.symbol) == letters, kernel.symbol
    assert len(kernel.params) == len(letters)


@pytest.mark.parametrize("symbol, letters", [
    ("scale", None),
    ("_Z", None),
    ("_Z1kv", []),
    ("_Z1kDn", None),
    ("_Z1kI1SEvT_T0_", None),
    ("_Z1kIXsrT_5valueEEvi", None),
    ("_Z99k", None),
    ("_Z1kS5_", None),
    ("_Z1kSt6vectorIiSaIiEEi", ["other", "i"]),
    ("_Z1kPKvS0_S_", ["P", "P", "other"]),
    ("_Z1k" + "P" * 5000 + "i", None),
])
def test_symbols_as_such(symbol, letters):
    assert parameter_letters(symbol) == letters


def test_total_on_any_text(runtime, scale):
    symbol = "_ZN1a1kINS_1SEiLi4EEEvNS_1VIT_EES1_PKNS3_IS1_EET0_S4_"
    for end in range(len(symbol) + 1):
        for instead in ("", "S", "T_", "I", "E", "N", "J", "L", "9"):
            answer = parameter_letters(symbol[:end] + instead + symbol[end + 1:])
            assert answer is None or all(isinstance(letter, str) for letter in answer)
