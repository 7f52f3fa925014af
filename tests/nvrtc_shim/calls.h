#pragma once

// What a program does with NVRTC. calls.cpp, misuses.cpp and samples.cpp are compiled for NVRTC's own header and for kiln's, so
// that each function is there twice.

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kiln::test {

/// What nvrtcCreateProgram(), nvrtcAddNameExpression() and nvrtcCompileProgram() are given.
struct Given {
  std::string name = "program.cu";
  std::string source = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< Names and texts.
  std::vector<std::string> options = {};
  std::vector<std::string> expressions = {};
};

/// What came of it. Numbers are those of nvrtcResult.
struct Outcome {
  int created = -1;
  int compiled = -1;
  std::string log = {};
  std::map<std::string, std::pair<int, std::string>> lowered = {};  ///< By expression.
  std::string cubin = {};
  std::string ptx = {};
  std::string ltoir = {};
  std::string optixir = {};
};

/// A call that is wrong, or comes at the wrong time, and what it gave.
using Misuse = std::pair<std::string, int>;

/// The calls, of NVRTC's own functions or of kiln's.
struct Side {
  Outcome (*compile)(const Given& given);
  std::vector<Misuse> (*misuses)();
  /// Version, architectures and the results' names, in words.
  std::vector<std::string> (*answers)();
  /// The flow of NVIDIA's sample: saxpy to PTX. Throws where a call fails.
  std::string (*saxpy)(std::string& log);
  /// The flow of CuPy's raw modules: templates, headers in memory and on the disk, a cubin.
  Outcome (*raw_module)(const std::string& include_dir);
};

extern const Side plain;
extern const Side shim;

}  // namespace kiln::test
