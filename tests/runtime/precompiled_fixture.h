#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "compile_fixture.h"

namespace kiln::test {

/// Runtimes that precompile headers with the second program that begins with them, and headers for these.
class PrecompiledFixture : public CompileFixture {
 protected:
  // With a warning here and there, which has to be in every log.
  static std::string header(const std::string& name, int value, const std::string& more = {}) {
    const auto number = std::to_string(value);
    return "#pragma once\n" + more + "#define VALUE_" + name + " " + number +
           "\n__device__ inline int f_" + name + "(int x) { " +
           (value % 3 == 0 ? "int never_used; " : "") + "return x * " + number +
           "; }\nstatic __device__ int kept_" + name + " = " + number + ";\n";
  }

  /// Compiles, whatever any cache has.
  static Runtime runtime(std::uint64_t precompiled_max_bytes, int workers = 0,
                         bool large_pages = true) {
    RuntimeOptions options;
    options.precompiled_large_pages = large_pages;
    options.cache_disabled = true;
    options.precompiled_max_bytes = precompiled_max_bytes;
    options.precompiled_after = std::chrono::milliseconds(0);
    options.compile_workers = workers;
    return Runtime::open(options).value();
  }
};

}  // namespace kiln::test
