#pragma once

#include <filesystem>

namespace demo {

/// Writes decoder_programs() as a manifest for `kiln prewarm`: what that compiles is what the decoder asks
/// for. A file that cannot be written is a std::system_error.
void write_decoder_manifest(const std::filesystem::path& file);

}  // namespace demo
