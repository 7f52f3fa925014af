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

// Launches as kernel nodes of explicit graphs, from the same configuration and arguments, with the same
// checks and the same errors as Kernel::launch(). Arguments are copied into the node. A node keeps the
// kernel: it must not be launched after the kernel's runtime has ended. The functions are as safe to use
// from several threads as CUDA's own: not on one graph at once. Programmatic serialization and events are
// for streams and refused: in a graph, edges say the same.

/// Adds a node that depends on these, which are of the same graph. On an error the graph is unchanged.
/// Errors: those of Kernel::launch().
[[nodiscard]] Result<CUgraphNode> add_kernel_node(CUgraph graph,
                                                  std::span<const CUgraphNode> dependencies,
                                                  const Kernel& kernel, const LaunchConfig& config,
                                                  const Args& args);

/// Gives a node of a graph another configuration, other arguments, another kernel. Executable graphs made
/// before are unchanged. Attributes that the node has and `config` does not name stay. On an error from
/// the driver the node may have a part of what was asked for.
/// Errors: those of Kernel::launch().
[[nodiscard]] Result<void> set_kernel_node(CUgraphNode node, const Kernel& kernel,
                                           const LaunchConfig& config, const Args& args);

/// The same in an executable graph: `node` is that of the graph it was made from. Launches of it that are
/// queued already are not affected. Attributes cannot be changed there: they are those that the node had
/// when the graph was instantiated, whatever `config` names. Takes nothing from the heap up to
/// Args::inline_count arguments.
/// Errors: those of Kernel::launch().
[[nodiscard]] Result<void> set_kernel_node(CUgraphExec executable, CUgraphNode node,
                                           const Kernel& kernel, const LaunchConfig& config,
                                           const Args& args);

}  // namespace kiln
