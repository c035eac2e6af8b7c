"""Lower: elementwise kernels, in versions by how the operands lie in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..expressions import Name
from ..kernels import NativeKernel
from ..routines import Routines
from .nests import OUTER, Nest


def elementwise(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of an elementwise kernel."""
    return _Elementwise(kernel, routines, scalar).module()


class _Elementwise(Nest):
    """One loop for contiguous operands, one for each operand that is a number, one for any strides."""

    def module(self) -> str:
        for numbers in self._versions():
            with self.memory.version(self._fits(numbers)):
                self._loop(numbers, [None] * len(self.kernel.operands))
        self._loop(frozenset(), self.arrays.outer_steps)
        return self.memory.module()

    def _versions(self) -> Iterator[frozenset[int]]:
        """The operands that are one number, of each contiguous version."""
        inputs = self.kernel.inputs
        always = frozenset([i for i, o in enumerate(inputs) if o.dtype == "number"])
        others = [i for i in range(len(inputs)) if i not in always]
        yield always
        if len(others) > 1:
            yield from [always | {i} for i in others]

    def _fits(self, numbers: frozenset[int]) -> str:
        """Whether these operands are numbers, and the elements of the others follow each other."""
        conditions = []
        for i, operand in enumerate(self.kernel.operands):
            expected = 0 if i in numbers else self.memory.type_of(operand)[1]
            conditions.append(self.body.add(f"icmp eq i64 {self.arrays.outer_steps[i]}, {expected}"))
        return self.memory.all_of(conditions)

    def _loop(self, numbers: frozenset[int], steps: Sequence[str | None]) -> None:
        memory, base, inputs = self.memory, self.arrays.base, self.kernel.inputs
        given = {i: memory.load(inputs[i], base[i]) for i in sorted(numbers)}
        with self.loop(OUTER, "0", self.arrays.outer, parallel=True) as index:
            both = zip(self.kernel.operands, base, steps, strict=True)
            at = [memory.at(operand, pointer, index, step) for operand, pointer, step in both]
            for i, operand in enumerate(inputs):
                self.know(Name(operand.name), given.get(i) or memory.load(operand, at[i]))
            for name, expr in self.kernel.statements:
                self.know(Name(name), self.value(expr))
            for i, operand in enumerate(self.kernel.outputs, len(inputs)):
                text = self.scalars.stored(self.value(Name(operand.name)), operand)
                memory.store(operand, text, at[i])
