#include "plain_compiles.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kiln/manifest.h"
#include "support/nvrtc.h"
#include "support/scratch.h"
#include "timing.h"
#include "vendor/nvrtc.h"

namespace kiln::bench {
namespace {

using vendor::Nvrtc;

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const auto& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

void expect(const Nvrtc& nvrtc, nvrtcResult result, const std::string& program) {
  if (result == NVRTC_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", program.c_str(), nvrtc.get_error_string(result));
  std::exit(1);
}

/// A program's headers as files, so that NVRTC finds for itself what they quote of their neighbours.
void write_headers(const ProgramSpec& spec, const std::filesystem::path& folder) {
  for (const auto& set : spec.headers) {
    for (const auto& header : set.headers()) {
      test::write_file(folder / header.name, std::string(header.text()));
    }
  }
}

std::vector<std::string> options_of(const ProgramSpec& spec, const Target& target,
                                    const std::filesystem::path& headers,
                                    const std::vector<std::filesystem::path>& toolkit) {
  auto options = spec.options;
  options.push_back("--gpu-architecture=" + target.arch());
  options.emplace_back("--no-cache");
  options.push_back("-I" + headers.string());
  for (const auto& folder : toolkit) options.push_back("-I" + folder.string());
  return options;
}

void compile_one(const Nvrtc& nvrtc, const ProgramSpec& spec, const std::string& arch,
                 const std::vector<std::string>& all_options, Symbols& symbols) {
  const auto options = pointers_to(all_options);
  const auto check = [&](nvrtcResult result) { expect(nvrtc, result, spec.name); };
  nvrtcProgram program = nullptr;
  check(
      nvrtc.create_program(&program, spec.source.c_str(), spec.name.c_str(), 0, nullptr, nullptr));
  for (const auto& kernel : spec.kernels) check(nvrtc.add_name_expression(program, kernel.c_str()));
  check(nvrtc.compile_program(program, static_cast<int>(options.size()), options.data()));
  for (const auto& kernel : spec.kernels) {
    const char* lowered = nullptr;
    check(nvrtc.get_lowered_name(program, kernel.c_str(), &lowered));
    symbols.insert({arch, kernel, lowered});
  }
  std::size_t size = 0;
  check(nvrtc.get_cubin_size(program, &size));
  std::string image(size, '\0');
  check(nvrtc.get_cubin(program, image.data()));
  check(nvrtc.destroy_program(&program));
}

}  // namespace

PlainCompiles compile_plainly_here(const std::filesystem::path& manifest) {
  const auto listing = read_manifest(manifest).value();
  const auto search = vendor::find_nvrtc(test::wanted_nvrtc());
  const auto nvrtc = vendor::Nvrtc::open(search).value();
  const auto toolkit = vendor::toolkit_include_dirs(search);
  PlainCompiles outcome;
  for (const auto& listed : listing) {
    for (const auto& target : listed.targets) {
      const test::ScratchDirectory headers;
      write_headers(listed.spec, headers.path());
      const auto options = options_of(listed.spec, target, headers.path(), toolkit);
      const auto begin = Clock::now();
      compile_one(nvrtc, listed.spec, target.arch(), options, outcome.symbols);
      outcome.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    }
  }
  return outcome;
}

}  // namespace kiln::bench
