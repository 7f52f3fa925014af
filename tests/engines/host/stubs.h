#pragma once
// Names of the host's standard library that device headers mention outside of device code: declared, never defined.
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/iterator>
#include <cuda/std/limits>
#include <cuda/std/numeric>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

namespace std {

using namespace ::cuda::std;

struct ostream {
  template <class T>
  ostream& operator<<(const T&);
  ostream& operator<<(ostream& (*)(ostream&));
};
ostream& endl(ostream&);
extern ostream cout, cerr;

struct string {
  string(const char* = "");
  string(const char*, size_t);
  const char* c_str() const;
  const char* data() const;
  size_t size() const;
  bool empty() const;
  string& operator+=(const string&);
  bool operator==(const string&) const;
};
string operator+(const string&, const string&);
template <class T>
string to_string(T);

struct ostringstream : ostream {
  ostringstream(const string& = "");
  string str() const;
};
using stringstream = ostringstream;

struct exception {
  virtual const char* what() const noexcept;
};
struct runtime_error : exception {
  runtime_error(const string&);
};
struct invalid_argument : runtime_error {
  using runtime_error::runtime_error;
};

template <class T>
struct atomic {
  constexpr atomic(T) {}
  T load(...) const;
  void store(T, ...);
};
enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release };

template <class T>
struct vector {
  vector();
  explicit vector(size_t, const T& = T());
  T* begin() const;
  T* end() const;
  T* data() const;
  T& operator[](size_t) const;
  T& back() const;
  size_t size() const;
  bool empty() const;
  void push_back(const T&);
  void resize(size_t);
  void reserve(size_t);
  void clear();
  template <class... Arguments>
  void emplace_back(Arguments&&...);
};

}  // namespace std
