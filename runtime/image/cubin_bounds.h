#pragma once

#include <string_view>

namespace kiln {

/// Whether every index, offset and size in a cubin's metadata stays within its table, section or file. Drivers
/// and nvJitLink follow them unchecked, so that a damaged image may end the process. Total on any bytes, in
/// time that grows with the image's size alone. What the instructions lead to is not told.
///
/// The format is undocumented; these hold in what NVRTC 12.0 to 13.5, nvcc and nvJitLink write for sm_50 to
/// sm_121:
///
/// - There is one table of symbols. `sh_link` of the other sections names it, but any section in what NVRTC
///   12.0 writes.
/// - `sh_info` is a section's index, or 0. But of the symbols it is how many are local, and of code the index
///   of its symbol, in 24 bits: older compilers put the registers above.
/// - `e_flags` from ELF ABI version 8 on: bits 0 and 1 say that the code is there in a second form, Mercury,
///   which the driver compiles. Its symbols, relocations and attributes are in sections of their own types.
///   Its code is compressed, so that the offsets in it are beyond its section.
/// - `.nv.info`: the payload of some attributes, or its first word, is the index of a symbol.
/// - `.nv.callgraph`: {u32 symbol, u32 second}, where a second from 0xfffffffc on begins a part. In the parts
///   0xfffffffe and 0xfffffffd, and in `.nv.prototype`, it is where among the symbols' names a function's type
///   stands; in the others it is a symbol.
/// - `.note.nv.tkinfo`, a note of type 2000: {u32 2, u32[5] offset in the strings that follow}.
[[nodiscard]] bool is_within_bounds(std::string_view cubin);

}  // namespace kiln
