#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/resources.h"

namespace kiln {

/// What a cubin says of itself.
struct CubinInfo {
  std::uint32_t arch = 0;     ///< 10 * major + minor, e.g. 90.
  bool exact_device = false;  ///< Made for an `a` target: runs on this compute capability alone.
  bool relocatable = false;   ///< Made to be linked with others (`-rdc=true`).
  /// In the order of the symbol table, each without an expression. Shared memory is without what the system reserves,
  /// local memory of the kernel's own frame where it recurses. Parameters do not overlap.
  std::vector<KernelInfo> kernels;
  std::vector<KernelCode> code;  ///< Of each kernel, in the same order.
  /// The symbols that it defines globally and not weakly: no other input of a link may define them.
  std::vector<std::string> definitions;
  std::vector<std::string> others;  ///< The other symbols that it defines: weak or local ones.
};

/// Reads a cubin's metadata without a driver; nothing for bytes that are not a sound cubin. Total
/// on any input. The format is undocumented; this is what NVRTC 12.4 and 13.0 write for sm_70 to
/// sm_121, checked against `ptxas -v`:
///
/// - `e_flags`: from ELF ABI version 8 on, bits 8..15 hold the architecture and the `.nv.compat`
///   attribute 0x09 is 1 for an `a` target; before, bits 0..7 and bit 11 do.
/// - A relocatable one is of ELF type REL, one to be loaded EXEC.
/// - A kernel is a function symbol whose `st_other` has bit 0x10.
/// - `.nv.info`, `.nv.info.<symbol>`, `.nv.compat`: attributes of a u8 format, a u8 id and a u16
/// that
///   is the value, or for format 4 the size of the payload that follows.
///   `.nv.info`: 0x2f registers, 0x11 frame size, 0x12 stack size, each {u32 symbol, u32 value}.
///   `.nv.info.<symbol>`: 0x17 {u32 index, u16 ordinal, u16 offset, u32 with the size in
///   bits 18..}, 0x45 (kernels with more than 4 KiB) {u32 index, u16 ordinal, u16 offset, u16 size,
///   u16 other}.
/// - `.nv.info.<symbol>`: 0x05 the largest block, 0x10 the only one, each {u32 x, u32 y, u32 z}.
/// - `.nv.info.<symbol>`: 0x37 {u32 10 * major + minor of ptxas's CUDA}; 0x55 (EIATTR_ANNOTATIONS, from 12.6 on)
///   {u32 kind, u32 offset in the code}*, where kind 1 is an instruction that spills or refills registers. Of
///   such an instruction, bits 0..8 say whether it stores to local memory (0x187) or loads (0x183), or spills
///   to shared memory instead, and bits 73..75 how much.
/// - `.text.<symbol>`: the kernel's code, and that of functions which it calls and nobody shares with it, each
///   under a symbol of its own.
/// - `.nv.shared.<symbol>`: its size is the static shared memory, from sm_90 on with 1 KiB of the
///   system's before it, unless the image is relocatable.
[[nodiscard]] std::optional<CubinInfo> read_cubin(std::string_view image);

}  // namespace kiln
