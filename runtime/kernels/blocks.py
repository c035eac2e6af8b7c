"""Elementwise kernels over large arrays: in blocks that stay in the processor's cache, and in threads.

A kernel that works element by element gives the same when it is called with one block of its operands
after the other. What it computes in between then stays in the cache, in memory that is used again, and
what it gives is written into one array for all blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..core.costs import BLOCK_BYTES, GRAIN, VECTOR
from ..machine_code import Kernels
from .dtypes import REDUCED
from .native_kernels import as_bits, kernel_of
from .parallel import get_num_threads, in_threads
from .reduced import upcast
from .shares import share_elements

Array = Any
Shape = tuple[int, ...]
#: Where a block is, in the dimensions that are cut: an index, a range.
Block = tuple[Any, ...]


def in_blocks(
    function: Callable[..., Any], *operands: Any, into: Array | None = None, scratch: int | None = None
) -> Any:
    """``function(*operands)`` of an elementwise function, in blocks of elements where that can be done.

    Operands are arrays, which broadcast, and whatever else the function takes. It gives an array, or a
    tuple of arrays and None. Values, dtypes, the order of the elements in memory and errors are those of
    the plain call. ``into`` is an array that nobody needs after the call: a result is written there if it
    is laid out in the same way.

    With ``scratch`` the function takes as many further arguments and one before these, and gives one array:
    they are None, or arrays of the result's shape and dtype, the first for the result, which is written
    last, the others for what is computed on the way.
    """
    extra = () if scratch is None else (None,) * (1 + scratch)
    arrays = [a for a in operands if _is_array(a)]
    if function.__class__ is np.ufunc:
        if not arrays or get_num_threads() == 1:
            return function(*operands)  # nothing is computed on the way
        if scratch is not None:
            function = _into_the_last(function)
    if not arrays:
        return function(*operands, *extra)
    shape = arrays[0].shape
    contiguous = all([a.flags.c_contiguous and a.shape == shape for a in arrays])
    plan = None
    try:
        plan = (_plan_contiguous if contiguous else _plan_strided)(
            function, (*operands, *extra), arrays, into
        )
        if plan is not None:
            return plan.run(0 if scratch is None else len(operands))
    except Exception:
        if plan is not None and any([r is into for r in plan.results if r is not None]):
            raise  # what it was has been written over
    return function(*operands, *extra)  # an error of the whole says what is wrong with the whole


def _into_the_last(ufunc: np.ufunc) -> Callable[..., Any]:
    """The same, with where to write as its last argument: NumPy wants that by name."""
    return lambda *given: ufunc(*given[:-1], out=given[-1])


def in_shares(kernel: np.ufunc, *operands: Any, into: Array | None = None) -> Array:
    """``kernel(*operands)`` of an elementwise native kernel: each thread has one share of the elements.

    Operands are arrays, which broadcast, and numbers of the kernel's dtype. ``into`` is an array that nobody
    needs after the call: the result is written there if it is laid out in the same way.
    """
    arrays = [a for a in operands if _is_array(a)]
    if not arrays:
        return kernel(*operands, out=...)
    shape = arrays[0].shape
    if all([a.flags.c_contiguous and a.shape == shape for a in arrays]):
        chars = "fdeH"  # H: the bits of bfloat16
        dtype = next(a.dtype for a in operands if a.__class__ is np.ndarray and a.dtype.char in chars)
        out = into
        if out is None or out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
            out = np.empty(shape, dtype)
        flat = [a.reshape(-1) if _is_array(a) else a for a in operands]
        share_elements(kernel, flat, (out.reshape(-1),))
        return out
    if get_num_threads() == 1 or not all([a.size for a in arrays]):
        return kernel(*operands, out=...)
    return _in_strided_shares(kernel, operands, np.broadcast_shapes(*[a.shape for a in arrays]))


def in_reduced(kernels: Kernels, kernel: np.ufunc, *operands: Any) -> Array:
    """``kernel(*operands)`` of an elementwise native kernel, whose arrays are of float16 or bfloat16.

    It computes in float32 and gives the reduced type. Arrays of several dtypes become float32 before that,
    and so does the result.
    """
    dtypes = {a.dtype for a in operands if a.__class__ is np.ndarray and a.dtype.char in _COMPUTED}
    form = kernel_of(kernel.__name__, next(iter(dtypes)), kernels) if len(dtypes) == 1 else None
    if form is None:
        return in_shares(kernel, *[upcast(a) if a.__class__ is np.ndarray else a for a in operands])
    found = in_shares(form, *[as_bits(a) if a.__class__ is np.ndarray else a for a in operands])
    return found.view(dtypes.pop())


#: Dtypes of arrays that are computed with; others are conditions and indices.
_COMPUTED = frozenset({*REDUCED, "f", "d"})


def _in_strided_shares(kernel: np.ufunc, operands: Sequence[Any], shape: Shape) -> Array:
    """The same of operands of any layout, cut where parts of the result are farthest from each other."""
    corner = [a[(*(slice(2),) * a.ndim,)] if _is_array(a) else a for a in operands]
    out = np.empty_like(kernel(*corner, out=...), shape=shape)  # as the corner shows, in the operands' order
    axis = max(range(len(shape)), key=lambda d: (shape[d] > 1, out.strides[d]))
    full = [np.broadcast_to(a, shape) if _is_array(a) else a for a in operands]
    share_elements(kernel, full, (out,), axis)
    return out


class _Operand:
    """An operand, in the dimensions that are cut."""

    __slots__ = ("array", "broadcast_dims")

    def __init__(self, array: Array, sizes: Shape) -> None:
        """``array`` is of the shape ``sizes``. Of a dimension in which it repeats, one element is enough."""
        self.broadcast_dims = [d for d, n in enumerate(sizes) if n > 1 and not array.strides[d]]
        if self.broadcast_dims:
            array = array[tuple([slice(1 if d in self.broadcast_dims else n) for d, n in enumerate(sizes)])]
        self.array = array

    def at(self, block: Block) -> Array:
        if not self.broadcast_dims:
            return self.array[block]
        index = [
            i if d not in self.broadcast_dims else 0 if i.__class__ is int else slice(1)
            for d, i in enumerate(block)
        ]
        return self.array[tuple(index)]


class _Plan:
    """A function, its operands as blocks are taken of them, and where the blocks of results go."""

    __slots__ = ("blocks", "count", "function", "is_tuple", "operands", "outs", "results")

    def __init__(
        self, function: Callable[..., Any], operands: Sequence[Any], sizes: Shape, bytes: int
    ) -> None:
        """``sizes`` are the dimensions that are cut, ``bytes`` those of an element."""
        self.function = function
        self.operands = [_Operand(a, sizes) if _is_array(a) else a for a in operands]
        self.count = math.prod(sizes)
        self.blocks = _split_blocks(sizes, BLOCK_BYTES // bytes)
        self.is_tuple = False
        self.results: list[Array | None] = []
        self.outs: list[Any] = []

    def set_results(self, results: list[Array | None], views: Sequence[Array | None], is_tuple: bool) -> None:
        """What to return, and the same in the dimensions that are cut."""
        self.results, self.is_tuple = results, is_tuple
        self.outs = list(views)

    def compute(self, block: Block) -> Any:
        return self.function(*[a.at(block) if a.__class__ is _Operand else a for a in self.operands])

    def write(self, block: Block, value: Any) -> None:
        for out, result in zip(self.outs, value if self.is_tuple else (value,), strict=True):
            if out is not None:
                out[block] = result

    def run(self, given: int) -> Any:
        """Compute all blocks, and return the results.

        The function writes into what it is given after its first ``given`` arguments, if that is not 0.
        """

        def task(begin: int, end: int) -> None:
            for block in self.blocks[begin:end]:
                self.write(block, self.compute(block))

        def writing(begin: int, end: int) -> None:
            (out,), scratch = self.outs, [None] * (len(self.operands) - given - 1)
            operands = self.operands[:given]
            for block in self.blocks[begin:end]:
                to = out[block]
                if scratch and (scratch[0] is None or scratch[0].shape != to.shape):
                    scratch = [np.empty_like(to) for _ in scratch]
                parts = [a.at(block) if a.__class__ is _Operand else a for a in operands]
                value = self.function(*parts, to, *scratch)
                if value is not to:  # what cannot be written into an array
                    to[...] = value

        run = writing if given and self.of_one_dtype() else task
        in_threads(run, len(self.blocks), self.count // len(self.blocks), GRAIN)
        return tuple(self.results) if self.is_tuple else self.results[0]

    def of_one_dtype(self) -> bool:
        """Whether nothing is computed in another dtype than the floating one of the result."""
        dtype = self.outs[0].dtype
        arrays = [a.array if a.__class__ is _Operand else a for a in self.operands]
        return dtype.kind == "f" and all([a.dtype == dtype for a in arrays if hasattr(a, "dtype")])


def _is_array(operand: Any) -> bool:
    """Whether an operand is cut; numbers and arrays without dimensions are not."""
    return operand.__class__ is np.ndarray and operand.ndim > 0


def _plan_contiguous(
    function: Callable[..., Any], operands: Sequence[Any], arrays: Sequence[Array], into: Array | None
) -> _Plan | None:
    """The plan for contiguous arrays of one shape, the first block done; None: the function is called."""
    shape, sizes = arrays[0].shape, (arrays[0].size,)
    flat = [a.reshape(-1) if _is_array(a) else a for a in operands]
    plan = _Plan(function, flat, sizes, max([a.itemsize for a in arrays]))
    if len(plan.blocks) < 2:
        return None
    first = plan.blocks.pop(0)
    given = [a.at(first) if a.__class__ is _Operand else a for a in plan.operands]
    value = function(*given)
    results = _allocate_results(value, given, shape, into)
    if results is None:
        return None
    plan.set_results(
        results, [None if r is None else r.reshape(-1) for r in results], value.__class__ is tuple
    )
    plan.write(first, value)
    return plan


def _plan_strided(
    function: Callable[..., Any], operands: Sequence[Any], arrays: Sequence[Array], into: Array | None
) -> _Plan | None:
    """The plan for arrays of any layout; None where the function is to be called plainly."""
    try:
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        return None  # the function's own error says what is wrong
    bytes = max([a.itemsize for a in arrays])
    if math.prod(shape) * bytes <= BLOCK_BYTES:
        return None
    # A corner of the operands shows what the results are, and how they are laid out.
    corner = [a[(*(slice(2),) * a.ndim,)] if _is_array(a) else a for a in operands]
    value = function(*corner)
    results = _allocate_results(value, corner, shape, into)
    if results is None:
        return None
    made = [r for r in results if r is not None]
    order = sorted(range(len(shape)), key=lambda d: -made[0].strides[d])
    full = {id(a): np.broadcast_to(a, shape).transpose(order) for a in arrays}
    sizes = _coalesced_shape([*full.values(), *[r.transpose(order) for r in made]])
    plan = _Plan(
        function, [full[id(a)].reshape(sizes) if _is_array(a) else a for a in operands], sizes, bytes
    )
    views = [None if r is None else r.transpose(order).reshape(sizes) for r in results]
    plan.set_results(results, views, value.__class__ is tuple)
    return plan


def _allocate_results(
    value: Any, given: Sequence[Any], shape: Shape, into: Array | None
) -> list[Array | None] | None:
    """Arrays of ``shape`` for what a function gave for ``given``, a part of its operands.

    None where its results are no new arrays with an element for each of the operands'.
    """
    arrays = [a for a in given if _is_array(a)]
    expected = np.broadcast_shapes(*[a.shape for a in arrays])
    results: list[Array | None] = []
    for r in value if value.__class__ is tuple else (value,):
        if r is None:
            results.append(None)
            continue
        if r.__class__ is not np.ndarray or r.shape != expected or any([r is a for a in arrays]):
            return None
        if r.base is not None and any([np.may_share_memory(r, a) for a in arrays]):
            return None
        out = np.empty_like(r, shape=shape)
        if into is not None and into.dtype == out.dtype and into.strides == out.strides:
            out, into = into, None
        results.append(out)
    return results if any([r is not None for r in results]) else None


def _coalesced_shape(arrays: Sequence[Array]) -> Shape:
    """The shape of the arrays, with dimensions made one where that moves no element of any of them."""
    sizes: list[int] = []
    last = 0
    for d, n in enumerate(arrays[0].shape):
        if n == 1:
            continue
        if sizes and all([a.strides[last] == n * a.strides[d] for a in arrays]):
            sizes[-1] *= n
        else:
            sizes.append(n)
        last = d
    return tuple(sizes)


def _split_blocks(sizes: Shape, elements: int) -> list[Block]:
    """Blocks of about so many elements that together are everything, in the order of memory."""
    axis, inner = len(sizes), 1
    while axis and inner * sizes[axis - 1] <= elements:
        axis -= 1
        inner *= sizes[axis]
    if not axis:
        return [()]
    axis -= 1
    size = sizes[axis]
    step = -(-size // -(-size * inner // elements))
    if inner == 1:
        step = -(-step // VECTOR) * VECTOR
    ranges = [slice(begin, min(begin + step, size)) for begin in range(0, size, step)]
    return [(*outer, r) for outer in product(*[range(n) for n in sizes[:axis]]) for r in ranges]
