#include "image/foreign_image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "image/cubin.h"
#include "image/cubin_bounds.h"
#include "image/kernel_facts.h"

namespace kiln {
namespace {

// A fatbin's header, as `fatbinary` of CUDA 12 and 13 writes it: u32 magic, u16 version, u16 size of this
// header, u64 size of all that follows.
constexpr std::uint32_t fatbin_magic = 0xba55ed50;
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t rest_bytes;
};
static_assert(sizeof(FatbinHeader) == 16);

bool is_whole_fatbin(std::string_view image) {
  FatbinHeader header;
  if (image.size() < sizeof header) return false;
  std::memcpy(&header, image.data(), sizeof header);
  return header.magic == fatbin_magic && header.header_bytes <= image.size() &&
         header.rest_bytes <= image.size() - header.header_bytes;
}

// The directive that PTX begins with, after comments.
bool is_ptx(std::string_view image) {
  return image.find('\0') == std::string_view::npos && image.find(".version") < image.size() &&
         image.find(".target") < image.size();
}

std::string_view target_of_ptx(std::string_view image) {
  constexpr std::string_view directive = ".target";
  auto rest = image.substr(image.find(directive) + directive.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.substr(0, rest.find_first_of(", \t\r\n"));
}

tl::unexpected<Error> unknown(const std::string& name) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: neither a cubin nor a fatbin nor PTX, or damaged; what else a "
                          "compiler makes (LTO-IR, an object) has to be linked to a cubin first",
                          name));
}

}  // namespace

Result<Artifact> artifact_of_image(std::string image, std::string name) {
  Artifact artifact;
  artifact.program = std::move(name);
  artifact.toolchain = "another tool";
  const auto cubin = read_cubin(image);
  if (cubin && is_within_bounds(image)) {
    if (cubin->relocatable) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{}: a relocatable cubin, which has to be linked first (Runtime::link())",
                      artifact.program));
    }
    artifact.kind = "cubin";
    artifact.arch = fmt::format("sm_{}{}", cubin->arch, cubin->exact_device ? "a" : "");
  } else if (is_whole_fatbin(image)) {
    artifact.kind = "fatbin";
    artifact.arch = "fatbin";
  } else if (is_ptx(image)) {
    artifact.kind = "ptx";
    artifact.arch = target_of_ptx(image);
  } else {
    return unknown(artifact.program);
  }
  artifact.key = digest_of(image);
  artifact.image = std::move(image);
  add_facts(artifact, true);
  return artifact;
}

}  // namespace kiln
