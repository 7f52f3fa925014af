#include "image/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiled.h"
#include "image/cubin_bounds.h"

namespace kiln {
namespace {

constexpr const char* source = R"(
struct alignas(16) Five { float values[5]; };
struct alignas(64) Wide { char bytes[128]; };
struct Large { char bytes[20000]; };

extern "C" __global__ void every_kind(bool flag, signed char c, short s, int i, long long l,
                                      double d, Five five, const __grid_constant__ Wide wide,
                                      float* out) {
  out[0] = flag + c + s + i + l + d + five.values[4] + wide.bytes[5];
}
extern "C" __global__ void nothing() {}
template <int N> __global__ void sharing(float* values) {
  __shared__ float shared[N];
  shared[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = shared[N - 1 - threadIdx.x];
}
extern "C" __global__ void stacking(int* values, int n) {
  int local[200];
  for (int i = 0; i < 200; ++i) local[i] = values[i];
  for (int i = 0; i < n; ++i) local[values[i] % 200] += i;
  values[0] = local[n % 200];
}
extern "C" __global__ void large(const __grid_constant__ Large large, char* out) {
  *out = large.bytes[19999];
}
)";

constexpr const char* spilling_source = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(double* values, int step) {
  double own[30];
  for (int i = 0; i < 30; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < 30; ++i) own[i] = own[i] * own[(i + 7) % 30] + values[k];
  for (int i = 0; i < 30; ++i) values[i * step] = own[i];
}
)";

const Program& program() {
  static const Program made =
      make_program(source, {"every_kind", "nothing", "sharing<1024>", "stacking", "large"});
  return made;
}

struct Arch {
  const char* name;
  std::uint32_t number;
  bool exact_device;
};

class CubinTest : public testing::TestWithParam<Arch> {
 protected:
  static CubinInfo read(const std::string& arch) {
    const auto info = read_cubin(compile_for(program(), arch).image);
    return info.value();
  }
};

const KernelInfo& kernel_of(const CubinInfo& info, const std::string& name) {
  const auto found = std::ranges::find_if(info.kernels, [&](const KernelInfo& kernel) {
    return kernel.symbol.find(name) != std::string::npos;
  });
  if (found == info.kernels.end()) throw std::runtime_error("the cubin has no kernel " + name);
  return *found;
}

TEST_P(CubinTest, TellsWhatItWasCompiledFor) {
  const CubinInfo info = read(GetParam().name);
  EXPECT_EQ(info.arch, GetParam().number);
  EXPECT_EQ(info.exact_device, GetParam().exact_device);
  EXPECT_EQ(info.kernels.size(), 5U);
}

TEST_P(CubinTest, TellsEachParameter) {
  const CubinInfo info = read(GetParam().name);
  const auto sizes = [&](const char* name) {
    std::vector<std::uint32_t> found;
    for (const Parameter& parameter : kernel_of(info, name).params) found.push_back(parameter.size);
    return found;
  };
  using Sizes = std::vector<std::uint32_t>;
  EXPECT_EQ(sizes("every_kind"), (Sizes{1, 1, 2, 4, 8, 8, 32, 128, 8}));
  EXPECT_EQ(sizes("nothing"), Sizes{});
  EXPECT_EQ(sizes("sharing"), Sizes{8});
  EXPECT_EQ(sizes("stacking"), (Sizes{8, 4}));
  EXPECT_EQ(sizes("large"), (Sizes{20000, 8}));
  EXPECT_EQ(kernel_of(info, "large").params[1].offset, 20000U);
}

// The numbers are those of `ptxas -v`.
TEST_P(CubinTest, TellsWhatAThreadAndABlockUse) {
  const CubinInfo info = read(GetParam().name);
  for (const KernelInfo& kernel : info.kernels) {
    EXPECT_GE(kernel.registers, 4U) << kernel.symbol;
    EXPECT_LE(kernel.registers, 64U) << kernel.symbol;
    const bool is_sharing = kernel.symbol.find("sharing") != std::string::npos;
    EXPECT_EQ(kernel.shared_bytes, is_sharing ? 4096U : 0U) << kernel.symbol;
    EXPECT_EQ(kernel.local_bytes, kernel.symbol == "stacking" ? 800U : 0U) << kernel.symbol;
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, CubinTest,
                         testing::Values(Arch{"sm_75", 75, false}, Arch{"sm_80", 80, false},
                                         Arch{"sm_86", 86, false}, Arch{"sm_89", 89, false},
                                         Arch{"sm_90", 90, false}, Arch{"sm_90a", 90, true},
                                         Arch{"sm_100", 100, false}, Arch{"sm_100a", 100, true},
                                         Arch{"sm_100f", 100, false}, Arch{"sm_103a", 103, true},
                                         Arch{"sm_110", 110, false}, Arch{"sm_120", 120, false},
                                         Arch{"sm_120a", 120, true}, Arch{"sm_121", 121, false}),
                         [](const auto& info) { return std::string(info.param.name); });

/// An image of sections alone, each with bytes of its own.
class CraftedCubin {
 public:
  static constexpr unsigned char of_a_kernel = 0x10;

  struct Part {
    std::string name;
    std::uint32_t type;
    std::string bytes;
    std::uint32_t link = 0;
  };

  static std::string of(std::vector<Part> parts) {
    std::string names(1, '\0');
    parts.insert(parts.begin(), {{"", SHT_NULL, ""}, {".shstrtab", SHT_STRTAB, ""}});
    std::vector<Elf64_Shdr> table;
    for (const Part& part : parts) {
      Elf64_Shdr section = {};
      section.sh_name = static_cast<Elf64_Word>(names.size());
      names += part.name + '\0';
      section.sh_type = part.type;
      section.sh_link = part.link;
      table.push_back(section);
    }
    parts[1].bytes = names;
    std::string image(sizeof(Elf64_Ehdr), '\0');
    for (std::size_t at = 0; at < parts.size(); ++at) {
      table[at].sh_offset = image.size();
      table[at].sh_size = parts[at].bytes.size();
      image += parts[at].bytes;
    }
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_CUDA;
    header.e_flags = 90;
    header.e_shoff = image.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(table.size());
    header.e_shstrndx = 1;
    std::memcpy(image.data(), &header, sizeof header);
    return image.append(reinterpret_cast<const char*>(table.data()),
                        table.size() * sizeof(Elf64_Shdr));
  }

  /// Symbols of functions, the names of which begin so far apart in the string table.
  static std::string symbols(std::size_t count, std::size_t distance,
                             unsigned char other = of_a_kernel) {
    std::string table(sizeof(Elf64_Sym), '\0');
    for (std::size_t number = 0; number < count; ++number) {
      Elf64_Sym symbol = {};
      symbol.st_name = static_cast<Elf64_Word>(1 + number * distance);
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_other = other;
      symbol.st_shndx = 4;
      table.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    }
    return table;
  }

  static std::string attributes(std::size_t count) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) list += std::string("\1\xFF\0\0", 4);
    return list;
  }
};

// What is refused was not looked at any more; so the time is bounded by the size, whatever is crafted.
TEST(CubinReaderTest, LooksAtNoPartOfACraftedOneTimeAndAgain) {
  const auto of_one_name = [](std::size_t kernels, std::size_t facts) {
    return CraftedCubin::of({{".strtab", SHT_STRTAB, std::string("\0k\0", 3)},
                             {".symtab", SHT_SYMTAB, CraftedCubin::symbols(kernels, 0), 2},
                             {".nv.info.k", SHT_PROGBITS, CraftedCubin::attributes(facts)}});
  };
  ASSERT_TRUE(read_cubin(of_one_name(1, 2000)));
  EXPECT_FALSE(read_cubin(of_one_name(2000, 2000)));
}

TEST(CubinReaderTest, ReadsNoNameWithinANameTimeAndAgain) {
  const auto of_one_text = [](std::size_t definitions) {
    return CraftedCubin::of({{".strtab", SHT_STRTAB, '\0' + std::string(4000, 'x') + '\0'},
                             {".symtab", SHT_SYMTAB, CraftedCubin::symbols(definitions, 1, 0), 2}});
  };
  ASSERT_TRUE(read_cubin(of_one_text(3)));
  EXPECT_FALSE(read_cubin(of_one_text(3000)));
}

TEST(CubinReaderTest, TellsHowMuchCodeAKernelIs) {
  const auto info = read_cubin(compile_for(program(), "sm_90").image).value();
  ASSERT_EQ(info.code.size(), info.kernels.size());
  // An instruction is of 16 bytes, and a section of a multiple of 128.
  for (const KernelCode& code : info.code) {
    EXPECT_GT(code.bytes.value(), 0U);
    EXPECT_EQ(*code.bytes % 128, 0U);
    EXPECT_EQ(code.spills, Spills());
  }
}

// Debuggers are told of shared memory by a section that is larger than the file and takes no room in it.
TEST(CubinReaderTest, ReadsWhatDebuggersAreTold) {
  const auto debugged = Program::make({.name = "debugged.cu",
                                       .source = R"(
      extern "C" __global__ void debugged(float* x) {
        __shared__ float all[12000];
        extern __shared__ float more[];
        all[threadIdx.x] = *x;
        more[threadIdx.x] = *x;
        __syncthreads();
        *x = all[x[1] > 0] + more[x[2] > 0];
      })",
                                       .options = {"-G", "-rdc=true"}});
  // From sm_90 on the system has its own before it, once the image is linked.
  for (const char* arch : {"sm_80", "sm_90", "sm_120"}) {
    const auto info = read_cubin(compile_for(debugged.value(), arch).image);
    ASSERT_TRUE(info) << arch;
    EXPECT_EQ(kernel_of(*info, "debugged").shared_bytes, 48000U) << arch;
  }
}

TEST(CubinReaderTest, ReadsTheFlagsOfOlderCompilers) {
  std::string image = compile_for(program(), "sm_90").image;
  image[EI_ABIVERSION] = 7;
  const auto with_flags = [&](std::uint32_t flags) {
    std::memcpy(image.data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof(flags));
    return read_cubin(image).value();
  };
  EXPECT_EQ(with_flags(0x005a055a).arch, 90U);
  EXPECT_FALSE(with_flags(0x005a055a).exact_device);
  EXPECT_EQ(with_flags(0x005a0d5a).arch, 90U);
  EXPECT_TRUE(with_flags(0x005a0d5a).exact_device);
}

TEST(CubinReaderTest, RefusesWhatIsNoCubin) {
  EXPECT_FALSE(read_cubin(""));
  EXPECT_FALSE(
      read_cubin("\x7f"
                 "ELF"));
  EXPECT_FALSE(read_cubin(".version 9.0\n.target sm_90\n"));
  EXPECT_FALSE(read_cubin(std::string(4096, '\0')));
}

TEST(CubinReaderTest, RefusesATruncatedOne) {
  const std::string image = compile_for(program(), "sm_90a").image;
  // The program headers, which nothing here reads, stand behind everything else.
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  const std::size_t end = header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
  ASSERT_LE(end, image.size());
  EXPECT_TRUE(read_cubin(image.substr(0, end)));
  for (std::size_t size = 0; size < end; size += 1 + size / 50) {
    EXPECT_FALSE(read_cubin(image.substr(0, size))) << size;
  }
}

/// Whatever was read keeps the promises of CubinInfo.
void expect_sound(const CubinInfo& info) {
  EXPECT_EQ(info.code.size(), info.kernels.size());
  for (const KernelInfo& kernel : info.kernels) {
    std::uint64_t end = 0;
    for (const Parameter& parameter : kernel.params) {
      EXPECT_GE(parameter.offset, end);
      end = std::uint64_t{parameter.offset} + parameter.size;
    }
    EXPECT_LE(end, 32764U);
  }
}

TEST(CubinReaderTest, IsTotalOnDamagedOnes) {
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  int read = 0;
  int within = 0;
  const std::string images[] = {
      compile_for(program(), "sm_80").image, compile_for(program(), "sm_100a").image,
      compile_for(make_program(spilling_source, {"spilling"}), "sm_80").image};
  for (const std::string& image : images) {
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof(header));
    for (int round = 0; round < 3000; ++round) {
      // A vector of just the size, so that a read beyond it is seen.
      std::vector<char> damaged(image.begin(), image.end());
      const std::size_t damages = 1 + below(8);
      for (std::size_t count = 0; count < damages; ++count) {
        // Half of them where it hurts: in the headers.
        const std::size_t tables = header.e_shnum * sizeof(Elf64_Shdr);
        const std::size_t at = below(2) == 0 ? below(damaged.size())
                                             : (below(4) == 0 ? below(sizeof(header))
                                                              : header.e_shoff + below(tables));
        damaged[at] = static_cast<char>(below(3) == 0 ? 0xff : below(256));
      }
      if (below(10) == 0) damaged.resize(below(damaged.size()));
      damaged.shrink_to_fit();
      const std::string_view bytes(damaged.data(), damaged.size());
      within += is_within_bounds(bytes) ? 1 : 0;
      const auto info = read_cubin(bytes);
      if (!info) continue;
      ++read;
      expect_sound(*info);
    }
  }
  // If every one had been refused, little but the header's checks would have been tried.
  EXPECT_GT(read, 100);
  EXPECT_GT(within, 100);
}

}  // namespace
}  // namespace kiln
