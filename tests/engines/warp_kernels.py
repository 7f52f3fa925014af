"""Kernels in Warp's Python; prints the CUDA C++ that Warp makes of each as JSON. Run with Warp and numpy on the path."""

import json
import re
import sys

import warp as wp
from warp._src.context import ModuleBuilder

wp.config.quiet = True
FLOATS = wp.array(dtype=float)
VECTORS = wp.array(dtype=wp.vec3)


@wp.kernel(module="saxpy")
def saxpy(a: float, x: FLOATS, y: FLOATS):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel(module="spring")
def spring(positions: VECTORS, velocities: VECTORS, rest: float, stiffness: float, forces: VECTORS):
    i = wp.tid()
    offset = positions[i + 1] - positions[i]
    length = wp.length(offset)
    force = wp.normalize(offset) * (length - rest) * stiffness - velocities[i] * 0.1
    wp.atomic_add(forces, i, force)
    wp.atomic_sub(forces, i + 1, force)


@wp.kernel(module="rotate")
def rotate(points: VECTORS, axis: wp.vec3, angle: float, turned: VECTORS):
    i = wp.tid()
    turned[i] = wp.quat_rotate(wp.quat_from_axis_angle(axis, angle), points[i])


@wp.kernel(module="matrices")
def matrices(given: wp.array(dtype=wp.mat33), values: VECTORS):
    i = wp.tid()
    values[i] = wp.inverse(given[i]) * wp.get_diag(given[i]) * wp.determinant(given[i])


@wp.kernel(module="noise")
def noise(seed: int, heights: wp.array2d(dtype=float)):
    i, j = wp.tid()
    state = wp.rand_init(seed, i * 64 + j)
    heights[i, j] = wp.noise(state, wp.vec2(float(i) * 0.1, float(j) * 0.1)) + wp.randf(state) * 0.01


@wp.kernel(module="particles")
def particles(grid: wp.uint64, points: VECTORS, radius: float, counts: wp.array(dtype=int)):
    i = wp.tid()
    count = int(0)
    for other in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[other] - points[i]) < radius:
            count += 1
    counts[i] = count


@wp.kernel(module="rays")
def rays(mesh: wp.uint64, origins: VECTORS, directions: VECTORS, depths: FLOATS):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, origins[i], directions[i], 1.0e6)
    if hit.result:
        depths[i] = hit.t


@wp.kernel(module="tile_sum")
def tile_sum(x: wp.array2d(dtype=float), y: FLOATS):
    i = wp.tid()
    tile = wp.tile_load(x[i], shape=256)
    wp.tile_store(y, wp.tile_sum(tile), offset=i)


def main():
    made = {}
    for name in ("saxpy", "spring", "rotate", "matrices", "noise", "particles", "rays", "tile_sum"):
        module = wp.get_module(name)
        options = {**module.options, "output_arch": 80, "block_dim": 256}
        source = ModuleBuilder(module, options).codegen("cuda")
        made[name] = {"source": source, "kernels": re.findall(r"\b(\w+_cuda_kernel_(?:forward|backward))\(", source)}
    json.dump(made, sys.stdout)
    print()


if __name__ == "__main__":
    main()
