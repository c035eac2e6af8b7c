"""What operators of the device ``cuda``, and programs that write, do over the stand-in for CuPy.

Run by test_cuda.py. Prints those that did not do as on the CPU.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from test_writes import PROGRAMS, compare

STAND_IN = Path(__file__).resolve().with_name("stand_in")
#: Operators for each thing that the backend does itself, in all overloads.
OPERATORS = frozenset({
    "add", "mul", "where", "sum", "mean", "amax", "argmax", "std", "sort", "argsort",
    "topk", "cumsum", "gather", "scatter", "scatter_add", "index", "index_put", "index_select",
    "embedding", "matmul", "bmm", "vdot", "linalg_vecdot", "unbind", "linalg_inv_ex", "linalg_svd",
    "fft_fft", "conv2d", "max_pool2d", "avg_pool2d", "softmax", "layer_norm",
    "nll_loss", "reshape", "cat", "stack", "flip", "roll",
    "repeat_interleave", "nonzero", "unique", "masked_select", "scatter_reduce", "median",
    "kthvalue", "linspace", "uniform", "special_multigammaln", "special_polygamma", "fill",
})  # fmt: skip


def dlpack_is_shared() -> bool:
    """Whether a tensor is made over the memory of an exporter on a GPU."""
    import cupy

    import tengen

    array = cupy.arange(3.0)
    made = tengen.from_dlpack(array)
    kept = bool(made.device.type == "cuda" and made.data_ptr() == array.data.ptr)
    return kept and tuple(made.__dlpack_device__()) == (2, 0)


def seeds_are_the_generators() -> bool:
    """Whether the seed of a GPU is that of the one generator, and its state can be had and set."""
    import tengen

    tengen.cuda.manual_seed(3)
    state = tengen.cuda.get_rng_state()
    first = tengen.rand(4, device="cuda").tolist()
    tengen.cuda.set_rng_state(state)
    return first == tengen.rand(4, device="cuda").tolist() and tengen.cuda.initial_seed() == 3


def main() -> None:
    sys.path.insert(0, str(STAND_IN))
    warnings.simplefilter("ignore")
    from tengen.testing.backends import run_on, tried

    operators = {n: o for n, o in tried().items() if n.partition(".")[0] in OPERATORS}
    missing = OPERATORS - {n.partition(".")[0] for n in operators}
    found = [f"{name}: there is no such operator" for name in sorted(missing)]
    for name, operator in operators.items():
        try:
            outcome = run_on("cuda", operator)
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        if outcome != "ran":
            found.append(f"{name}: {outcome}")
    for program in PROGRAMS:
        try:
            compare(program, "cuda")
        except Exception as error:
            found.append(f"{program.__name__}: {type(error).__name__}: {error}")
    if not dlpack_is_shared():
        found.append("from_dlpack copies")
    if not seeds_are_the_generators():
        found.append("seeds are not the generator's")
    print("\n".join(found))


if __name__ == "__main__":
    main()
