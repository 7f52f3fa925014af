#pragma once

// kiln/kiln.h: start here; it includes the headers below.
//
//     auto runtime = kiln::Runtime::open().value();
//     const kiln::Kernel kernel = runtime.kernel(program, "scale<float>").value();
//     kernel.launch(stream, {.grid = {1}, .block = {256}}, x, 0.5f).value();
//
// Program -> look up --hit--> Artifact -> load -> Kernel -> launch(Args); a miss is compiled and stored
// first.
//
// In reading order: program.h (what is compiled), headers.h (what it may include), target.h (for what), settings.h
// and runtime.h (the pipeline), compiling.h (compiles that nobody waits for), artifact.h (what comes out),
// resources.h (what kernels take of a GPU), explain.h (why it would miss), numbers.h and args.h (what kernels are
// given), launch.h (what runs), named_kernels.h (found by an engine's own names), graph.h (what runs in graphs), module.h
// (images as they are, and their variables), manifest.h (programs written down), sources.h (their sources as files),
// observer.h (what kiln says meanwhile), error.h (how it fails), version.h. Not included: cache.h, which alone is
// enough to inspect a cache, exchange.h and remote.h, which bring one to another machine, nvrtc.h, for a program that was
// written for NVRTC, and c_api.h, for other languages.

#include "kiln/args.h"
#include "kiln/artifact.h"
#include "kiln/compiling.h"
#include "kiln/error.h"
#include "kiln/explain.h"
#include "kiln/graph.h"
#include "kiln/headers.h"
#include "kiln/launch.h"
#include "kiln/link.h"
#include "kiln/manifest.h"
#include "kiln/module.h"
#include "kiln/named_kernels.h"
#include "kiln/numbers.h"
#include "kiln/observer.h"
#include "kiln/program.h"
#include "kiln/resources.h"
#include "kiln/runtime.h"
#include "kiln/settings.h"
#include "kiln/sources.h"
#include "kiln/target.h"
#include "kiln/version.h"
