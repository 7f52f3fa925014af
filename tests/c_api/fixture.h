#pragma once

#include <stddef.h>

#include "fake_cuda.h"
#include "kiln/c_api.h"

/// The cache directory of this process's test, which is removed at exit.
const char* cache_directory(void);

/// A runtime on the cache directory and the fake driver that says nothing; the caller's to close.
kiln_runtime* open_runtime(void);

/// One of `source` and `kernel`, with kiln's headers; the caller's to free.
kiln_program* make_program(const char* source, const char* kernel);

/// `engine::scale<float, 2>(float* x, float by)`, with a header of its own and one of kiln's.
kiln_program* make_scale_program(void);
extern const char* const scale_expression;

/// Its artifact for sm_80; the caller's to free.
kiln_artifact* compile_scale(kiln_runtime* runtime);
kiln_origin origin_of(const kiln_artifact* artifact);

/// A function of the fake driver that is called by name, e.g. "fake_cuda_launch_count", as a pointer to be
/// copied into one to a function.
void* fake_driver_symbol(const char* name);
