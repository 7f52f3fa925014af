#include "vendor/elf_notes.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "kiln/digest.h"
#include "system/standard_streams.h"

namespace kiln::vendor {

namespace {

constexpr std::size_t most_program_headers = 128;
constexpr std::size_t largest_note_segment = std::size_t{64} * 1024;
constexpr std::uint64_t sampled_page = 4096;
constexpr std::uint64_t samples = 256;

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : descriptor_(system::open_file(path.c_str(), O_RDONLY)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (is_open()) ::close(descriptor_);
  }

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

  [[nodiscard]] std::uint64_t size() const {
    struct stat status;
    return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

  bool read_at(std::uint64_t offset, void* into, std::size_t size) const {
    return ::pread(descriptor_, into, size, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(size);
  }

 private:
  int descriptor_;
};

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// Notes follow each other: a header, the name and the description, each padded to 4 bytes.
std::string build_id_among(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name_end = sizeof note + padded(note.n_namesz);
    const std::size_t end = name_end + padded(note.n_descsz);
    if (name_end < sizeof note || end < name_end || end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(sizeof note, note.n_namesz) == std::string_view("GNU\0", 4)) {
      std::string id;
      for (const unsigned char byte : notes.substr(name_end, note.n_descsz))
        id += fmt::format("{:02x}", byte);
      return id;
    }
    notes.remove_prefix(end);
  }
  return {};
}

#if defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#else
constexpr Elf64_Half own_machine = EM_X86_64;
#endif

}  // namespace

Result<std::string> build_id(const std::filesystem::path& path) {
  const File file(path);
  if (!file.is_open()) return fail(ErrorCode::io_failed, std::generic_category().message(errno));
  Elf64_Ehdr header;
  if (!file.read_at(0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorCode::io_failed, "not a 64-bit ELF library");
  }
  if (header.e_machine != own_machine)
    return fail(ErrorCode::io_failed, "an ELF library for another architecture");
  std::vector<Elf64_Phdr> segments(std::min<std::size_t>(header.e_phnum, most_program_headers));
  if (!file.read_at(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) {
    return fail(ErrorCode::io_failed, "an ELF library cut short");
  }
  // The loader maps what the headers promise, and a process that touches what is not there is killed.
  const auto is_cut_short = [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD &&
           (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset);
  };
  if (std::any_of(segments.begin(), segments.end(), is_cut_short)) {
    return fail(ErrorCode::io_failed, "an ELF library cut short");
  }
  for (const auto& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > largest_note_segment) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read_at(segment.p_offset, notes.data(), notes.size())) continue;
    if (auto id = build_id_among(notes); !id.empty()) return id;
  }
  return std::string();
}

Result<std::string> library_identity(const std::filesystem::path& path) {
  auto id = build_id(path);
  if (!id || !id->empty()) return id;
  const File file(path);
  const std::uint64_t size = file.size();
  std::string material = fmt::format("{} ", size);
  std::string page(sampled_page, '\0');
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    const std::uint64_t at = size / samples * sample;
    const std::size_t length = static_cast<std::size_t>(std::min(size - at, sampled_page));
    if (!file.read_at(at, page.data(), length))
      return fail(ErrorCode::io_failed, "a file that cannot be read");
    material.append(page, 0, length);
  }
  return "pages-" + digest_of(material).hex();
}

}  // namespace kiln::vendor
