#pragma once

// kiln/graph.h: launches as kernel nodes of explicit graphs.
//
//     const CUgraphNode node =
//         kiln::add_kernel_node(graph, {}, kernel, {.grid = {1}, .block = {256}}, kiln::Args(x, 0.5f)).value();
//     kiln::set_kernel_node(node, kernel, {.grid = {2}, .block = {256}}, kiln::Args(x, 2.0f)).value();

#include <span>

#include "kiln/args.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/launch.h"

// cuda.h's own declarations; both headers may be included.
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;

namespace KILN_EXPORT kiln {

// These functions take the same configuration and arguments as Kernel::launch(), check the same, and give the
// same errors. CUDA copies the arguments into the node. A node refers to its kernel, so do not launch it
// after the kernel's runtime has ended. As with CUDA's own functions, two threads must not work on one graph
// at once. Programmatic serialization and events are for streams, and refused here: in a graph, edges say the
// same.

/// Adds a node that depends on `dependencies`, which are nodes of the same graph. On an error the graph is
/// unchanged.
/// Errors: those of Kernel::launch().
[[nodiscard]] Result<CUgraphNode> add_kernel_node(CUgraph graph,
                                                  std::span<const CUgraphNode> dependencies,
                                                  const Kernel& kernel, const LaunchConfig& config,
                                                  const Args& args);

/// Gives a node of a graph another configuration, other arguments or another kernel. Executable graphs that
/// were made before do not change. The node keeps attributes that `config` does not set. After an error of
/// the driver the node may have some of the new values.
/// Errors: those of Kernel::launch().
[[nodiscard]] Outcome set_kernel_node(CUgraphNode node, const Kernel& kernel,
                                      const LaunchConfig& config, const Args& args);

/// The same in an executable graph; `node` is the node of the graph that it was made from. Launches that are
/// queued already do not change. Attributes stay as they were when the graph was instantiated, whatever
/// `config` sets. With up to Args::inline_count arguments it takes nothing from the heap.
/// Errors: those of Kernel::launch().
[[nodiscard]] Outcome set_kernel_node(CUgraphExec executable, CUgraphNode node,
                                      const Kernel& kernel, const LaunchConfig& config,
                                      const Args& args);

}  // namespace kiln
