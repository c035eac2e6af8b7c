"""Lower: kernels that change tables at indices: each element of the operands changes one of a result.

Elements are taken one after the other, along k and then along n, so that of several at one index all count,
and always in one order.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expressions import Name, replaced
from ..kernels import NativeKernel
from ..routines import Routines
from .instructions import Kind, Unlowerable, Value
from .nests import Nest
from .passes import LENGTH, PLACES

_EACH = "k"


def updates(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel that has updates."""
    return _Updates(kernel, routines, scalar).module()


class _Updates(Nest):
    """Loops over the elements of operands: a version for contiguous ones, one for any."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        super().__init__(kernel, routines, scalar)
        if any([PLACES not in o.dims for o in kernel.outputs]):
            raise Unlowerable("the results of a kernel with updates are tables")
        # No two elements of a row change the same element of a table of rows.
        self.parallel = all([LENGTH in o.dims for o in kernel.outputs])
        known = kernel.defined
        self.updates = [(replaced(table, known), replaced(expr, known)) for table, expr in kernel.updates]
        self.know(Name(PLACES), Value(self.arrays.sizes[PLACES], Kind.LONG))

    def module(self) -> str:
        dims = [dim for dim in (_EACH, LENGTH) if dim in self.arrays.sizes]
        with self.contiguous([o for o in self.kernel.operands if o.dims[-1:] == tuple(dims[-1:])]):
            self._version(dims)
        self._version(dims)
        return self.memory.module()

    def _version(self, dims: Sequence[str]) -> None:
        with self.outer():
            self._along(dims)

    def _along(self, dims: Sequence[str]) -> None:
        """The loops over dims, and in the innermost what is changed."""
        if not dims:
            for table, expr in self.updates:
                self.update(table, expr)
            return
        self.prepare([part for table, expr in self.updates for part in (table, expr)])
        dim, *others = dims
        with self.loop(dim, "0", self.arrays.sizes[dim], parallel=self.parallel and dim == LENGTH):
            self._along(others)
