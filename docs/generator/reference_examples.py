"""The examples of the reference: the first declared sample of an operator that can be shown, run."""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tengen
import tengen.dispatch.operator
import tengen.testing.declared as declared
from tengen.codegen.model.annotations import parameter_name
from tengen.codegen.model.operators import Operator
from tengen.codegen.model.schema import Argument
from tengen.core.operands import tensors_in
from tengen.testing.samples import Call

#: More elements than these are not printed.
_FEW = 24


class ExampleError(Exception):
    """An example does not run."""


def example(operator: Operator, call_name: str) -> str:
    """A session: the inputs, the call and what it gives; "" for an operator without samples.

    Every line of it is run. Raises ExampleError when the call fails for every sample.
    """
    found = _samples(operator)
    # A function that is written by hand may take other arguments than the operator does.
    attempts = [(call_name, call) for call in found] + [(_directly(operator), call) for call in found[:1]]
    failure: ExampleError | None = None
    for name, call in attempts:
        try:
            return _session(operator, name, call)
        except ExampleError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return ""


def _directly(operator: Operator) -> str:
    return f'tengen.dispatch.operator.operator("{operator.name}")'


def _session(operator: Operator, call_name: str, call: Call) -> str:
    given = [_Given(a, v) for a, v in zip(call.arguments, call.tensors(_kind(call)), strict=True)]
    lines = [line for g in given for line in g.definition()]
    words = [w for w in ("inf", "nan") if any(re.search(rf"\b{w}\b", line) for line in lines)]
    if words:
        lines.insert(0, f"from tengen import {', '.join(words)}")
    if call_name.startswith("tengen.dispatch.operator."):
        lines.insert(0, "import tengen.dispatch.operator")
        expression = f"{call_name}({', '.join(map(str, given))})"
    else:
        expression = _call(call_name, given)
    scope: dict[str, Any] = {"tengen": tengen}
    tengen.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.filterwarnings("ignore", rf"{re.escape(call_name)} is deprecated", UserWarning)
            for line in lines:
                exec(line, scope)
            result = eval(expression, scope)
            shown = _shown(result) if declared.has_values(operator) else _described(result)
    except Exception as error:
        text = "\n".join([*lines, expression])
        raise ExampleError(f"the example of {operator.name} fails: {error}\n{text}") from error
    session = [f">>> {line}".replace("\n", "\n... ") for line in (*lines, expression)]
    return "\n".join(session + shown)


def _samples(operator: Operator) -> list[Call]:
    """The calls to choose from, the best to look at first; of an in-place operator its functional one's."""
    plain = replace(operator.name, inplace=False)
    alike = [n for n in declared.operators() if n.partition(".")[0] == plain.function]
    for name in (str(operator.name), str(plain), *alike):
        if name in declared.operators() and declared.calls(name):
            return sorted(declared.calls(name)[:4], key=_awkwardness)
    return []


def _awkwardness(call: Call) -> tuple[int, int]:
    """How much there is to print; an empty or a 0-d input shows nothing."""
    tensors = list(tensors_in(call.tensors(_kind(call))))
    sizes = [t.numel() for t in tensors]
    dull = sum(1 for n, t in zip(sizes, tensors, strict=True) if n == 0 or t.ndim == 0)
    return dull + sum(n > _FEW for n in sizes), sum(sizes)


def _kind(call: Call) -> Any:
    """float32 where the operator has it."""
    computed = declared.dtypes_of(call.operator) or [tengen.float32, *(call.only or ())]
    has = [k for k in computed if call.takes(k)]
    return tengen.float32 if tengen.float32 in has else has[-1]


class _Given:
    """One argument of a call: how it is written."""

    def __init__(self, argument: Argument, value: Any) -> None:
        self.argument, self.value = argument, value
        self.name = "x" if argument.name == "self" else parameter_name(argument.name)

    def definition(self) -> list[str]:
        """The lines that make its tensors."""
        if isinstance(self.value, tengen.Tensor):
            return _assignment(self.name, self.value)
        if isinstance(self.value, list) and any(isinstance(v, tengen.Tensor) for v in self.value):
            names = [n for n in self._names() if n != "None"]
            made = [v for v in self.value if v is not None]
            return [line for n, v in zip(names, made, strict=True) for line in _assignment(n, v)]
        return []

    def _names(self) -> list[str]:
        stem = self.name.rstrip("s") if self.name.endswith("s") else self.name
        return ["None" if v is None else f"{stem}{i}" for i, v in enumerate(self.value)]

    @property
    def default(self) -> bool:
        """Whether it is what it would be anyway."""
        return self.argument.default is not None and bool(
            not isinstance(self.value, tengen.Tensor) and self.value == declared.default(self.argument)
        )

    def __str__(self) -> str:
        if isinstance(self.value, tengen.Tensor):
            return self.name
        if isinstance(self.value, list) and any(isinstance(v, tengen.Tensor) for v in self.value):
            return f"[{', '.join(self._names())}]"
        return _literal(self.value)


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, tengen.device):
        return repr(str(value))
    return repr(value)


def _call(call_name: str, given: Sequence[_Given]) -> str:
    receiver = ""
    rest = list(given)
    if call_name.startswith("Tensor."):
        receiver, call_name = "x", call_name.removeprefix("Tensor")
        rest = [g for g in given if g.argument.name != "self"]
    texts: list[str] = []
    skipped = False
    for g in rest:
        if g.default:
            skipped = True
        elif g.argument.kwarg_only or skipped:
            texts.append(f"{parameter_name(g.argument.name)}={g}")
        else:
            texts.append(str(g))
    return f"{receiver}{call_name}({', '.join(texts)})"


def _assignment(name: str, tensor: Any) -> list[str]:
    if tensor.numel() > _FEW:
        kind = "" if tensor.dtype is tengen.float32 else f", dtype={tensor.dtype}"
        sizes = ", ".join(map(str, tensor.shape))
        if tensor.is_floating_point() or tensor.is_complex():
            return [f"{name} = tengen.randn({sizes}{kind})"]
        low, high = int(tensor.min()), int(tensor.max()) + 1
        return [f"{name} = tengen.randint({low}, {high}, ({sizes},){kind})"]
    return [f"{name} = tengen.{tensor!r}".replace("\n", "\n" + " " * len(f"{name} = tengen."))]


def _shown(result: Any) -> list[str]:
    """What an interpreter would print, unless that is long."""
    if isinstance(result, tengen.Tensor):
        return repr(result).splitlines() if result.numel() <= _FEW else _described(result)
    found = declared.flat(result)
    if any(t.numel() > _FEW for t in found):
        return _described(result)
    return repr(result).splitlines()


def _described(result: Any) -> list[str]:
    """The shapes and dtypes of a result."""
    lines = []
    for t in declared.flat(result):
        sizes = f"({', '.join(map(str, t.shape))}{',' if t.ndim == 1 else ''})"
        lines.append(f"# a tensor of shape {sizes}, {str(t.dtype).removeprefix('tengen.')}")
    return lines or [f"# {type(result).__name__}"]


@functools.cache
def second_order(name: str) -> tuple[bool | None, bool | None]:
    """Whether the operator's results have gradients, and these have; None where there is no case."""
    from tengen.testing.differentiable import as_function, cases

    found = cases(name) if name in declared.operators() else []
    for call, kind in found[:1]:
        function, inputs = as_function(call, kind)
        points = [t.detach().requires_grad_() for t in inputs]
        try:
            results = [r for r in function(*points) if r.requires_grad]
            if not results or not points:
                return False, None
            grads = tengen.autograd.grad(
                results, points, [tengen.ones_like(r) for r in results], create_graph=True, allow_unused=True
            )
        except RuntimeError:
            return False, None
        again = [g for g in grads if g is not None and g.requires_grad]
        if not again:
            return True, True  # linear: the second derivative is zero
        try:
            tengen.autograd.grad(again, points, [tengen.ones_like(g) for g in again], allow_unused=True)
        except RuntimeError:
            return True, False
        return True, True
    return None, None
