#pragma once

#include "compile/compile_job.h"

namespace kiln::test {

/// A kernel that compiles in some 20 ms; each number is another one.
[[nodiscard]] CompileJob plain_job(int number);

// What NVRTC really does not survive, or not soon.

/// It aborts where it cannot write what it was asked to.
[[nodiscard]] CompileJob crashing_job();
/// The preprocessor expands a macro that doubles 60 times, in little memory.
[[nodiscard]] CompileJob spinning_job();
/// The front end instantiates 2^28 templates.
[[nodiscard]] CompileJob devouring_job();
/// The back end writes 64 MiB out.
[[nodiscard]] CompileJob devouring_back_end_job();
/// The optimiser works for some seconds.
[[nodiscard]] CompileJob optimising_job();

}  // namespace kiln::test
