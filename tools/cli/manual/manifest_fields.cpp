#include "manual/manifest_fields.h"

namespace kiln::cli {

namespace {

constexpr ManifestField of_manifest[] = {
    {"kiln_manifest", "the format's version: 1"},
    {"targets",
     "architectures for which each program is compiled, such as [\"sm_80\", \"sm_90a\"]"},
    {"image", "cubin, ptx, fatbin, ltoir or optixir; cubin where it is left out"},
    {"texts", "texts by their digests, which several programs may share"},
    {"programs", "a list of programs"},
};

constexpr ManifestField of_program[] = {
    {"name", "for messages and listings, such as attn.cu; it is part of the key"},
    {"source", "CUDA C++, or else source_file or source_text"},
    {"source_file", "a file, whose folder goes before include_dirs"},
    {"source_text", "the digest of one of texts"},
    {"source_word", "stands for the source in the key"},
    {"kernels", "name expressions, such as scale<float>, and names of extern \"C\" kernels"},
    {"options", "the compiler's, such as --std=c++20"},
    {"include_dirs", "folders of headers"},
    {"header_dirs", "folders whose files become embedded headers, under their paths from there"},
    {"headers", "embedded headers: a spelling for each, and its text"},
    {"standard_headers", "true for the headers of the C++ standard that kiln brings"},
    {"engine", "whose entry it is, in a cache that several engines share"},
    {"targets", "goes before the manifest's"},
    {"image", "goes before the manifest's"},
    {"variants", "a list of programs that stand in for this one on some targets"},
    {"recorded_headers", "in a record: what each header was"},
    {"working_directory", "in a record: where the output shows it"},
    {"embedded_names", "in a record: one of texts, all embedded names where any may count"},
};

constexpr ManifestField of_variant[] = {
    {"name", "for KILN_VARIANT and listings"},
    {"since", "the least target that it is for"},
    {"file", "its name in messages"},
    {"source", "in any of the three ways; the program's where it is left out"},
    {"source_file", "a file"},
    {"source_text", "one of texts"},
    {"options", "in the place of the program's"},
    {"kernels", "for each name expression of the program its own"},
};

}  // namespace

std::span<const ManifestField> manifest_fields() noexcept { return of_manifest; }
std::span<const ManifestField> program_fields() noexcept { return of_program; }
std::span<const ManifestField> variant_fields() noexcept { return of_variant; }

}  // namespace kiln::cli
