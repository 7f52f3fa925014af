#pragma once

#include <string>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/program.h"

/// A program of these kernels that includes CUDA's headers as an engine's does.
[[nodiscard]] kiln::Program make_program(const std::string& source,
                                         std::vector<std::string> kernels);

/// What NVRTC really makes of it. Throws where it makes nothing.
[[nodiscard]] kiln::Artifact compile_for(const kiln::Program& program, const std::string& arch);
