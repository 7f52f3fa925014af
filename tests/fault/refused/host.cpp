// A host that expects no exception of kiln's: it asks for some programs, and says on standard error what came of each.
//
//     host CACHE INCLUDE_DIR WORKERS PROGRAMS

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kiln/digest.h"
#include "kiln/kiln.h"

namespace {

void ask(kiln::Runtime& runtime, const std::string& include_dir, int number) {
  const auto text = std::to_string(number);
  const auto program = kiln::Program::make(
      {.name = text + ".cu",
       .source =
           "#include \"value.h\"\n#if __has_include(\"more.h\")\n#include \"more.h\"\n#endif\n"
           "__global__ void k(int* x) { *x = VALUE + " +
           text + "; }\n",
       .include_dirs = {include_dir}});
  const auto artifact = program ? runtime.compile(*program, "sm_80")
                                : kiln::Result<kiln::Artifact>(tl::unexpected(program.error()));
  if (artifact) {
    std::fprintf(stderr, "image %d %s\n", number, kiln::digest_of(artifact->image).hex().c_str());
  } else {
    std::fprintf(stderr, "error %s: %s\n", kiln::to_string(artifact.error().code),
                 artifact.error().message.c_str());
  }
}

}  // namespace

int main(int, char** words) {
  kiln::RuntimeOptions options;
  options.cache_directory = words[1];
  options.compile_workers = std::atoi(words[3]);
  options.log_level = kiln::LogLevel::off;
  auto runtime = kiln::Runtime::open(options);
  if (!runtime) {
    std::fprintf(stderr, "error %s: %s\n", kiln::to_string(runtime.error().code),
                 runtime.error().message.c_str());
    return 0;
  }
  for (int number = 0; number < std::atoi(words[4]); ++number) ask(*runtime, words[2], number);
  return 0;
}
