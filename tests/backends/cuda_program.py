"""A stand-in for CuPy over NumPy, and what operators of the device ``cuda`` do with it; run by test_cuda.py.

It has CuPy's names as far as the backend uses them, and lacks what CuPy lacks: what is tested is the
backend's glue, not CuPy, and no GPU. Prints the operators that did not do as on the CPU.
"""

from __future__ import annotations

import sys
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

#: What CuPy 14 has not of NumPy.
LACKS = frozenset({"vecdot", "unstack", "__array_namespace_info__", "bfloat16"})
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


class ndarray(np.ndarray[Any, Any]):
    """CuPy's arrays: results of functions are arrays, never scalars."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(ndarray)

    def __getitem__(self, key: Any) -> Any:
        return _device(super().__getitem__(key))


def _device(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)([_device(v) for v in value]) if type(value) in (tuple, list) else value
    return np.asarray(value).view(ndarray) if isinstance(value, np.ndarray | np.generic) else value


class CuPy(ModuleType):
    """The module ``cupy``."""

    ndarray = ndarray
    cuda = SimpleNamespace(is_available=lambda: True, Device=lambda *index: SimpleNamespace(id=0))

    def __getattr__(self, name: str) -> Any:
        if name in LACKS:
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        found = getattr(np, name)
        if not callable(found) or isinstance(found, type):
            return found
        return lambda *arguments, **options: _device(found(*arguments, **options))

    def sort(self, a: Any, axis: int = -1, kind: str | None = None) -> Any:
        return _device(np.sort(a, axis, kind="stable"))

    def argsort(self, a: Any, axis: int = -1, kind: str | None = None) -> Any:
        return _device(np.argsort(a, axis, kind="stable"))

    def asnumpy(self, a: Any) -> Any:
        return np.array(a).view(np.ndarray)

    def from_dlpack(self, source: Any) -> Any:
        return _device(source.array)


def install() -> None:
    """Put the stand-in where ``import cupy`` finds it."""
    cupyx = ModuleType("cupyx")
    for how, ufunc in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
        setattr(cupyx, f"scatter_{how}", ufunc.at)
    modules = {"cupy": CuPy("cupy"), "cupyx": cupyx}
    sys.modules.update(modules, **{n: ModuleType(n) for n in ("cupyx.scipy", "cupyx.scipy.special")})


def dlpack_is_shared() -> bool:
    """Whether a tensor is made over the memory of an exporter on a GPU."""
    import tengen

    array = np.arange(3.0)
    options = {"__dlpack_device__": lambda self: (2, 0), "__dlpack__": lambda self, **_: None, "array": array}
    made = tengen.from_dlpack(type("Exporter", (), options)())
    kept = bool(made.device.type == "cuda" and made.data_ptr() == array.ctypes.data)
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
    install()
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
    if not dlpack_is_shared():
        found.append("from_dlpack copies")
    if not seeds_are_the_generators():
        found.append("seeds are not the generator's")
    print("\n".join(found))


if __name__ == "__main__":
    main()
