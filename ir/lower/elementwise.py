"""Lower: elementwise kernels, in versions by how the operands lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels import NativeKernel
from ..routines import Routines
from .instructions import Instructions
from .loops import Memory
from .scalars import Operand as ScalarOperand, ScalarLowering


def elementwise(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of an elementwise kernel."""
    return _Elementwise(kernel, routines, scalar).module()


class _Elementwise:
    """One loop for contiguous operands, one for each operand that is a number, one for any strides."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        self.kernel = kernel
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, routines)
        self.memory = Memory(self.body, self.scalars.width)

    def module(self) -> str:
        body, operands = self.body, self.kernel.operands
        body.label("entry")
        count = body.add("load i64, ptr %dims")
        pointers = self.memory.arguments("%args", "ptr", len(operands))
        steps = self.memory.arguments("%steps", "i64", len(operands))
        body.put(f"br i1 {body.add(f'icmp sgt i64 {count}, 0')}, label %test.0, label %done")
        versions = self._versions()
        for number, numbers in enumerate(versions):
            body.label(f"test.{number}")
            self._test(steps, numbers, number)
            self._loop(count, pointers, [None] * len(operands), numbers, f"v{number}")
        body.label(f"test.{len(versions)}")
        body.put("br label %pre.any")
        self._loop(count, pointers, steps, frozenset(), "any")
        body.label("done")
        body.put("ret i32 0")
        return self.memory.module()

    def _versions(self) -> list[frozenset[int]]:
        """The operands that are one number, of each contiguous version."""
        inputs = self.kernel.inputs
        always = frozenset([i for i, o in enumerate(inputs) if o.dtype == "number"])
        others = [i for i in range(len(inputs)) if i not in always]
        return [always, *([always | {i} for i in others] if len(others) > 1 else [])]

    def _test(self, steps: Sequence[str], numbers: frozenset[int], version: int) -> None:
        body = self.body
        conditions = []
        for i, operand in enumerate(self.kernel.operands):
            expected = 0 if i in numbers else self.memory.type_of(operand)[1]
            conditions.append(body.add(f"icmp eq i64 {steps[i]}, {expected}"))
        fits = self.memory.all_of(conditions)
        body.put(f"br i1 {fits}, label %pre.v{version}, label %test.{version + 1}")

    def _loop(
        self,
        count: str,
        pointers: Sequence[str],
        steps: Sequence[str | None],
        numbers: frozenset[int],
        name: str,
    ) -> None:
        body, memory, inputs = self.body, self.memory, self.kernel.inputs
        body.label(f"pre.{name}")
        env: dict[str, ScalarOperand] = {inputs[i].name: memory.load(inputs[i], pointers[i]) for i in numbers}
        body.put(f"br label %loop.{name}")
        body.label(f"loop.{name}")
        index, following = f"%i.{name}", f"%n.{name}"
        body.put(f"{index} = phi i64 [0, %pre.{name}], [{following}, %loop.{name}]")
        for i, operand in enumerate(inputs):
            if i not in numbers:
                at = memory.at(operand, pointers[i], index, steps[i])
                env[operand.name] = memory.load(operand, at, parallel=True)
        found = self.scalars.run(self.kernel.statements, env)
        for i, operand in enumerate(self.kernel.outputs, len(inputs)):
            at = memory.at(operand, pointers[i], index, steps[i])
            memory.store(operand, self.scalars.stored(found[operand.name], operand), at, parallel=True)
        memory.loop_end(following, index, count, "done", f"loop.{name}")
