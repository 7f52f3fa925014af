// A program that was written for NVRTC. It tells what NVRTC answers, and then what of NVRTC it has loaded.
//
//     kiln_nvrtc_sample [INCLUDE_DIR]    compiles too where the folder is given

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "calls.h"

namespace {

bool has_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find(library) != std::string::npos;
}

void print(const kiln::test::Outcome& outcome) {
  std::printf("raw_module: %d, %zu bytes of cubin, %zu of PTX\n", outcome.compiled,
              outcome.cubin.size(), outcome.ptx.size());
  for (const auto& [expression, lowered] : outcome.lowered)
    std::printf("%s: %d %s\n", expression.c_str(), lowered.first, lowered.second.c_str());
  std::printf("log: %s\n", outcome.log.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  for (const auto& answer : kiln::test::shim.answers()) std::printf("%s\n", answer.c_str());
  if (argc > 1) {
    print(kiln::test::shim.raw_module(argv[1]));
    std::string log;
    std::printf("saxpy: %zu bytes of PTX\n", kiln::test::shim.saxpy(log).size());
  }
  std::printf("loaded: %s\n", has_mapped("libnvrtc") ? "NVRTC" : "nothing");
  return 0;
} catch (const std::exception& failure) {
  std::printf("failed: %s\n", failure.what());
  return 1;
}
