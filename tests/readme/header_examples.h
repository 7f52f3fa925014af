#pragma once

// What the examples of the public headers take for granted: declared, and nowhere defined, since they are compiled and not
// run.

#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include <kiln/cache.h>
#include <kiln/caller_state.h>
#include <kiln/exchange.h>
#include <kiln/kiln.h>
#include <kiln/nvrtc.h>
#include <kiln/remote.h>
#include <kiln/size.h>

namespace examples {

extern kiln::Runtime runtime;
extern const kiln::Program program;
extern const kiln::Target target;
extern const kiln::Artifact artifact;
extern const kiln::Kernel kernel;
extern CUstream stream;
extern CUgraph graph;
extern std::FILE* file;
extern float* x;
extern const char* argument;
extern unsigned count;

}  // namespace examples
