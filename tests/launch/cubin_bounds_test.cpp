#include "image/cubin_bounds.h"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiled.h"
#include "image/cubin.h"
#include "image/elf_parts.h"
#include "image/foreign_image.h"

namespace kiln {
namespace {

// Something for each table: constants, memory that is initialised, that is not, and that is shared; calls of every kind.
constexpr const char* source = R"(
struct Base { __device__ virtual int get(int) = 0; };
struct First : Base { int own; __device__ int get(int x) override { return x + own; } };
struct Second : Base { __device__ int get(int x) override { return x * 2; } };
struct Large { char bytes[5000]; };

__constant__ float table[100];
__device__ int counter = 3;
__device__ int* where = &counter;
__device__ float cleared[10];
__device__ int plus(int x) { return x + 1; }
__device__ int times(int x) { return x * 3; }
typedef int (*Function)(int);
__device__ Function functions[] = {plus, times};
__device__ __noinline__ int recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }

template <int N> __global__ void share(float* out, int n) {
  __shared__ float all[N];
  extern __shared__ float more[];
  all[threadIdx.x % N] = out[threadIdx.x];
  more[threadIdx.x] = 1;
  __syncthreads();
  out[n] = all[(n + 1) % N] + table[n % 100] + more[n] + *where + cleared[n % 10];
  cleared[n % 10] = sinf(out[n]) / out[n + 1];
}
template __global__ void share<100>(float*, int);
template __global__ void share<3000>(float*, int);
extern "C" __global__ void __launch_bounds__(64) call(int* out, int n) {
  First first;
  first.own = n;
  Second second;
  Base* base = n > 3 ? static_cast<Base*>(&first) : static_cast<Base*>(&second);
  out[0] = base->get(out[1]) + recurse(n) + functions[n & 1](n);
  printf("%d\n", out[0]);
}
extern "C" __global__ void view(cudaTextureObject_t in, cudaSurfaceObject_t to, float* out) {
  out[0] = tex2D<float>(in, 1.0F, 2.0F);
  surf2Dwrite(out[1], to, 4, 4);
}
extern "C" __global__ void take(const __grid_constant__ Large large, char* out) {
  *out = large.bytes[4999];
}
)";

std::string compiled(const std::string& arch, std::vector<std::string> options) {
  const auto program =
      Program::make({.name = "bounds.cu", .source = source, .options = std::move(options)});
  return compile_for(program.value(), arch).image.string();
}

class SoundCubin : public testing::TestWithParam<const char*> {};

TEST_P(SoundCubin, IsWithinBoundsWhateverTheOptions) {
  const std::vector<std::vector<std::string>> options = {
      {}, {"-G"}, {"-lineinfo"}, {"-rdc=true"}, {"-G", "-rdc=true"}};
  for (const auto& some : options) {
    const std::string image = compiled(GetParam(), some);
    EXPECT_TRUE(read_cubin(image)) << testing::PrintToString(some);
    EXPECT_TRUE(is_within_bounds(image)) << testing::PrintToString(some);
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, SoundCubin,
                         testing::Values("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100",
                                         "sm_100f", "sm_103a", "sm_110", "sm_120", "sm_121f"),
                         [](const auto& info) { return std::string(info.param); });

enum class Place { file_header, section_header, contents };

/// What tells where something is: bytes of the file's header, or of a section or its header.
struct Field {
  Place place;
  const char* section;
  std::size_t offset;
  std::size_t size;
};

constexpr Field of_file(std::size_t offset, std::size_t size) {
  return {Place::file_header, "", offset, size};
}
constexpr Field type_of(const char* section) {
  return {Place::section_header, section, offsetof(Elf64_Shdr, sh_type), 4};
}
constexpr Field link_of(const char* section) {
  return {Place::section_header, section, offsetof(Elf64_Shdr, sh_link), 4};
}
constexpr Field info_of(const char* section) {
  return {Place::section_header, section, offsetof(Elf64_Shdr, sh_info), 4};
}
constexpr Field offset_of(const char* section) {
  return {Place::section_header, section, offsetof(Elf64_Shdr, sh_offset), 8};
}
constexpr Field in(const char* section, std::size_t offset, std::size_t size) {
  return {Place::contents, section, offset, size};
}

// A driver of CUDA 13.0 died of each of these, with some other value in it, when it was given the image.
const Field deadly[] = {
    of_file(offsetof(Elf64_Ehdr, e_phoff), 8),
    of_file(offsetof(Elf64_Ehdr, e_phnum), 2),
    offset_of(""),
    type_of(".shstrtab"),
    type_of(".strtab"),
    {Place::section_header, ".symtab", offsetof(Elf64_Shdr, sh_entsize), 8},
    info_of(".nv.info"),
    info_of(".nv.info.call"),
    info_of(".nv.constant0.call"),
    info_of(".nv.constant3"),
    info_of(".nv.shared.reserved.0"),
    info_of(".nv.shared._Z5shareILi100EEvPfi"),
    info_of(".rela.text.call"),
    offset_of(".rela.text.call"),
    info_of(".rela.debug_frame"),
    offset_of(".note.nv.tkinfo"),
    in(".note.nv.tkinfo", 32, 4),  // Where a string begins.
    in(".nv.info", 4, 4),          // The symbols of the first attributes.
    in(".nv.info", 16, 4),
    in(".nv.info", 28, 4),
    in(".symtab", 8 * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx), 2),
};

/// It is not known to die of these.
const Field others[] = {
    link_of(".symtab"),
    link_of(".text.call"),
    offset_of(".nv.shared.reserved.0"),
    in(".symtab", sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_name) + 1, 3),  // Of 2 KB of names.
    in(".note.nv.tkinfo", 0, 4),  // The sizes of a note's name and description.
    in(".note.nv.tkinfo", 4, 4),
    in(".note.nv.tkinfo", 44, 4),
    in(".nv.callgraph", 8, 4),
    in(".rela.debug_frame", offsetof(Elf64_Rela, r_offset), 8),
    in(".rela.debug_frame", offsetof(Elf64_Rela, r_info) + 4, 4),
};

std::size_t position(const std::string& image, const Field& field) {
  if (field.place == Place::file_header) return field.offset;
  const auto header = elf::read_header(image).value();
  const auto sections = elf::read_sections(image, header).value();
  const auto names = sections[header.e_shstrndx].bytes;
  for (std::size_t index = 0; index < sections.size(); ++index) {
    const Elf64_Shdr& section = sections[index].header;
    if (elf::read_text(names, section.sh_name) != field.section) continue;
    return field.offset + (field.place == Place::contents
                               ? section.sh_offset
                               : header.e_shoff + index * sizeof(Elf64_Shdr));
  }
  throw std::runtime_error(std::string("the cubin has no section ") + field.section);
}

class DamagedCubin : public testing::Test {
 protected:
  /// Flips each bit of the field but the lowest, which may lead to another place that there is.
  void expect_refused(const Field& field) const {
    const std::size_t first = field.size == 8 ? 2 : 1;
    for (std::size_t bit = 8 * first; bit < 8 * field.size; ++bit) {
      std::string damaged = image_;
      damaged[position(image_, field) + bit / 8] ^= static_cast<char>(1U << bit % 8);
      EXPECT_FALSE(artifact_of_image(damaged, "damaged"))
          << field.section << " offset " << field.offset << " bit " << bit;
    }
  }

  const std::string image_ = compiled("sm_90", {});
};

TEST_F(DamagedCubin, IsRefusedWhereADriverDiesOfIt) {
  ASSERT_TRUE(artifact_of_image(image_, "sound"));
  for (const Field& field : deadly) expect_refused(field);
}

TEST_F(DamagedCubin, IsRefusedWhereverItLeadsOut) {
  for (const Field& field : others) expect_refused(field);
}

TEST_F(DamagedCubin, IsRefusedWhereItClaimsASecondFormOfItsCode) {
  std::string damaged = image_;
  damaged[offsetof(Elf64_Ehdr, e_flags)] |= 1;
  EXPECT_FALSE(artifact_of_image(damaged, "damaged"));
}

TEST_F(DamagedCubin, IsRefusedWhereAnAttributeIsShorterThanItsKind) {
  std::string damaged = image_;
  // The first one is the compiler's version, of one word; this makes it a parameter, which is of three.
  damaged[position(image_, in(".nv.info.call", 1, 1))] = elf::parameter_id;
  EXPECT_FALSE(is_within_bounds(damaged));
}

/// The image with so many more sections, all of which are one that it has.
std::string with_copies(std::string image, const char* name, std::size_t count) {
  auto header = elf::read_header(image).value();
  const std::string section =
      image.substr(position(image, {Place::section_header, name, 0, 0}), sizeof(Elf64_Shdr));
  std::string table = image.substr(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  for (std::size_t copy = 0; copy < count; ++copy) table += section;
  header.e_shoff = image.size();
  header.e_shnum = static_cast<Elf64_Half>(header.e_shnum + count);
  std::memcpy(image.data(), &header, sizeof header);
  return image + table;
}

// What is refused was not looked at any more; so the time is bounded by the size, whatever is crafted.
TEST_F(DamagedCubin, IsNotLookedAtTimeAndAgain) {
  EXPECT_TRUE(is_within_bounds(with_copies(image_, ".text.call", 3)));
  EXPECT_FALSE(is_within_bounds(with_copies(image_, ".text.call", 60000)));
}

}  // namespace
}  // namespace kiln
