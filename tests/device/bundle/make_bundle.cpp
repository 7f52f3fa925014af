// Writes a bundle of one entry, whose log is the second argument, for the tests of kiln_embed_bundle().

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "kiln/cache.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string folder = (std::filesystem::temp_directory_path() / "kiln-bundle-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 3;
  kiln::Request request{.program = "embedded.cu", .arch = "sm_80", .kind = "ptx"};
  kiln::Artifact artifact;
  artifact.image = "an image";
  artifact.log = argv[2];
  kiln::Result<kiln::ExportReport> report;
  {
    auto cache = kiln::Cache::open(folder).value();
    cache
        .put({.request = request,
              .dependencies = {},
              .toolchain = {},
              .artifact = artifact,
              .texts = {}})
        .value();
    report = cache.export_bundle(argv[1]);
  }
  std::filesystem::remove_all(folder);
  if (!report) std::fprintf(stderr, "%s\n", report.error().message.c_str());
  return report ? 0 : 3;
}
