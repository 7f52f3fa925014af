"""CuPy: elementwise and reduction kernels in the form that it generates, and raw kernels whose text its modules hold."""

import ast

import fetch
import kernels

PRELUDE = """#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
"""
OPTIONS = ["--std=c++17", "-default-device", "-ftz=true"]

# name: (type of the inputs, of the output, what an element comes to of x and y)
ELEMENTWISE = {
    "add": ("float", "float", "x + y"),
    "true_divide": ("long long", "double", "(double)x / (double)y"),
    "hypot": ("double", "double", "hypot(x, y)"),
    "logaddexp": ("float", "float", "fmaxf(x, y) + log1pf(expf(-fabsf(x - y)))"),
    "complex_multiply": ("complex<float>", "complex<float>", "x * y"),
    "complex_power": ("complex<double>", "complex<double>", "pow(x, y)"),
    "greater": ("int", "bool", "x > y"),
    "remainder": ("long long", "long long", "y == 0 ? 0 : x % y"),
}
# name: (type, what is begun with, how a and b become one, what comes of it)
REDUCTION = {
    "sum": ("float", "0", "a + b", "a"),
    "prod": ("double", "1", "a * b", "a"),
    "amax": ("int", "-2147483647 - 1", "a < b ? b : a", "a"),
    "complex_sum": ("complex<float>", "complex<float>(0)", "a + b", "a"),
    "norm": ("double", "0", "a + b * b", "sqrt(a)"),
}
# In which module the text lies, under which name, and the name expressions that are asked for.
RAW = {
    "interval": ("interpolate/_bspline.py", "INTERVAL_KERNEL", ["find_interval"]),
    "d_boor": ("interpolate/_bspline.py", "D_BOOR_KERNEL", ["d_boor<double>", "d_boor<thrust::complex<double>>"]),
    "design_matrix": ("interpolate/_bspline.py", "DESIGN_MAT_KERNEL", ["compute_design_matrix<int>"]),
    "ppoly": ("interpolate/_interpolate.py", "PPOLY_KERNEL", ["eval_ppoly<double>", "integrate<thrust::complex<double>>"]),
    "bpoly": ("interpolate/_interpolate.py", "BPOLY_KERNEL", ["eval_bpoly<double>"]),
    "linear_nd": ("interpolate/_interpnd.py", "LINEAR_INTERP_ND_DEF", ["evaluate_linear_nd_interp<double>"]),
    "nd_bspline": ("interpolate/_ndbspline.py", "NDBSPL_DEF", ["eval_nd_bspline<double>"]),
    "peaks": ("signal/_peak_finding.py", "PEAKS_KERNEL", ["peak_widths<float>"]),
    "relative_extrema": ("signal/_peak_finding.py", "ARGREL_KERNEL", ["boolrelextrema_1D<double>"]),
    "iir": ("signal/_iir_utils.py", "IIR_KERNEL", ["first_pass_iir<float>", "second_pass_iir<double>"]),
    "max_len_seq": ("signal/_max_len_seq.py", "MAX_LEN_SEQ_KERNEL", ["max_len_seq"]),
    "lombscargle": ("signal/_spectral_impl.py", "LOMBSCARGLE_KERNEL", ["_cupy_lombscargle_float32"]),
    "kd_tree": ("spatial/_kdtree_utils.py", "KD_KERNEL", ["tag_pairs"]),
    "nearest": ("spatial/_kdtree_utils.py", "KNN_KERNEL", ["knn<float>"]),
}


def elementwise(name, kind, result, body):
    text = f"""typedef {kind} in_type;
typedef {result} out_type;
extern "C" __global__ void cupy_{name}(const CArray<in_type, 2, 0, 1> all_x, const CArray<in_type, 2, 0, 1> all_y,
                                       CArray<out_type, 2, 1, 1> all_z, CIndexer<2, 1> index) {{
  CUPY_FOR(i, index.size()) {{
    index.set(i);
    const in_type x(all_x[index.get()]), y(all_y[index.get()]);
    out_type& z = all_z[index.get()];
    z = {body};
  }}
}}
"""
    return kernels.Kernel(f"cupy_{name}.cu", PRELUDE + text, [f"cupy_{name}"], archs=("sm_80",), options=OPTIONS,
                          family="cupy elementwise and reductions")


def reduction(name, kind, identity, reduce, finish):
    text = f"""typedef {kind} type;
extern "C" __global__ void cupy_{name}(const CArray<type, 1, 1, 1> all, CArray<type, 0, 1, 1> result, CIndexer<1, 1> index,
                                       const int block_stride) {{
  __shared__ char raw[256 * sizeof(type)];
  type* shared = reinterpret_cast<type*>(raw);
  type a = {identity};
  for (ptrdiff_t i = threadIdx.x; i < index.size(); i += blockDim.x) {{
    index.set(i);
    const type b = all[index.get()];
    a = {reduce};
  }}
  shared[threadIdx.x] = a;
  for (int left = 128; left >= block_stride; left /= 2) {{
    __syncthreads();
    if (threadIdx.x < left) {{
      const type b = shared[threadIdx.x + left];
      a = {reduce};
      shared[threadIdx.x] = a;
    }}
  }}
  if (threadIdx.x == 0) result[0] = {finish};
}}
"""
    return kernels.Kernel(f"cupy_{name}.cu", PRELUDE + text, [f"cupy_{name}"], archs=("sm_80",), options=OPTIONS,
                          family="cupy elementwise and reductions")


def constants(module):
    """The texts that a module assigns at its top, by name: those that are made of texts alone."""
    known = {}
    for statement in ast.parse(module.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                value = eval(compile(ast.Expression(statement.value), str(module), "eval"), {"__builtins__": {}}, dict(known))
            except Exception:  # It is made of something else.
                continue
            if isinstance(value, str):
                known[statement.targets[0].id] = value
    return known


def raw(folder, name, module, constant, expressions):
    return kernels.Kernel(f"cupy_raw_{name}.cu", constants(folder / "cupyx/scipy" / module)[constant], expressions,
                          archs=("sm_80",), options=OPTIONS)


def package():
    if not fetch.is_here("cupy-cuda13x"):
        return None
    folder = fetch.folder_of("cupy-cuda13x")
    listed = [*(elementwise(name, *rest) for name, rest in ELEMENTWISE.items()),
              *(reduction(name, *rest) for name, rest in REDUCTION.items()),
              *(raw(folder, name, *rest) for name, rest in RAW.items())]
    cccl = "include/cupy/_cccl"
    return kernels.Package("cupy", listed, {"include": folder / "cupy/_core/include"},
                           (f"{cccl}/libcudacxx", f"{cccl}/thrust", f"{cccl}/cub", "include"))
