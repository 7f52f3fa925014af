#include "verbs/clang_command.h"

namespace kiln::cli {

const std::string_view clang_prelude =
    R"prelude(// What NVRTC brings along without an #include, for clang and clangd. Made by kiln compile-commands; the compile commands
// beside it include it first. Its own names begin with two underscores, so that no program's macros meet them.
#pragma once

// NVRTC's macros. CUDA's headers take what __clang__ tells of for another compiler, and these for NVRTC.
#undef __clang__
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#define __THROW
#define _CRTIMP
#define __cdecl
#define __noinline__ __attribute__((noinline))

// What NVRTC has and clang has not: a trait, for which CUDA's headers know another way, and alignas in the place where it
// stands in `__shared__ alignas(16) int x;`.
#define _LIBCUDACXX_USE_IS_NOTHROW_DESTRUCTIBLE_FALLBACK
template <class __Type>
constexpr __SIZE_TYPE__ __kiln_alignment() { return alignof(__Type); }
template <__SIZE_TYPE__ __value>
constexpr __SIZE_TYPE__ __kiln_alignment() { return __value; }
#define alignas(...) __attribute__((aligned(::__kiln_alignment<__VA_ARGS__>())))

// The types and functions of device code. No header of the C library is included: a program may bring its own.
#define NULL 0
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef long clock_t;
#if __has_include(<crt/device_functions.h>)
#include <cuda_runtime_api.h>
#include <vector_functions.h>
#include <__clang_cuda_builtin_vars.h>
template <class... __Arguments>
__device__ void __nv_tex_surf_handler(const char*, __Arguments...);
#include <crt/device_functions.h>
#include <crt/math_functions.h>
extern "C" {
__host__ __device__ int printf(const char*, ...);
__host__ __device__ void* malloc(size_t);
__host__ __device__ void free(void*);
__host__ __device__ void* memcpy(void*, const void*, size_t);
__host__ __device__ void* memset(void*, int, size_t);
__host__ __device__ clock_t clock();
__host__ __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
}
__host__ __device__ inline void* operator new(size_t, void* __place) noexcept { return __place; }
__host__ __device__ inline void* operator new[](size_t, void* __place) noexcept { return __place; }
#ifdef NDEBUG
#define assert(...) (static_cast<void>(0))
#else
#define assert(...)                      \
  ((__VA_ARGS__) ? static_cast<void>(0)  \
                 : __assertfail(#__VA_ARGS__, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#endif
#endif
#if __has_include(<nv/target>)
#include <nv/target>
#endif

// Of the C++ library NVRTC has these three.
#ifndef __KILN_NO_MOVE_FORWARD__
namespace std {
template <class __Type> struct __kiln_remove_reference { using __type = __Type; };
template <class __Type> struct __kiln_remove_reference<__Type&> { using __type = __Type; };
template <class __Type> struct __kiln_remove_reference<__Type&&> { using __type = __Type; };
template <class __Type>
__attribute__((host, device)) constexpr typename __kiln_remove_reference<__Type>::__type&& move(
    __Type&& __value) noexcept {
  return static_cast<typename __kiln_remove_reference<__Type>::__type&&>(__value);
}
template <class __Type>
__attribute__((host, device)) constexpr __Type&& forward(
    typename __kiln_remove_reference<__Type>::__type& __value) noexcept {
  return static_cast<__Type&&>(__value);
}
template <class __Type>
__attribute__((host, device)) constexpr __Type&& forward(
    typename __kiln_remove_reference<__Type>::__type&& __value) noexcept {
  return static_cast<__Type&&>(__value);
}
}  // namespace std
#endif
#ifndef __KILN_NO_INITIALIZER_LIST__
namespace std {
template <class __Type>
class initializer_list {
  const __Type* __begin = nullptr;
  size_t __size = 0;

 public:
  using value_type = __Type;
  using reference = const __Type&;
  using const_reference = const __Type&;
  using size_type = size_t;
  using iterator = const __Type*;
  using const_iterator = const __Type*;
  __attribute__((host, device)) constexpr initializer_list() noexcept {}
  __attribute__((host, device)) constexpr size_t size() const noexcept { return __size; }
  __attribute__((host, device)) constexpr const __Type* begin() const noexcept { return __begin; }
  __attribute__((host, device)) constexpr const __Type* end() const noexcept {
    return __begin + __size;
  }
};
}  // namespace std
#endif

// A function without an execution space is one of the device. To the end of the source.
#ifdef __KILN_DEFAULT_DEVICE__
#pragma clang force_cuda_host_device begin
#endif
)prelude";

}  // namespace kiln::cli
