"""Arrays without data against those with it: shapes, dtypes and strides."""

from __future__ import annotations

from typing import Any

import tengen
from tengen.codegen.model.names import COMPOSITES
from tengen.codegen.model.operators import EXPRESSIONS, Operator
from tengen.generated.backends import BACKENDS

from . import declared
from .arrangements import arrangements, strides_that_matter, tensors
from .aspects import Aspect, Case, in_first_dtype, in_working_dtypes
from .declared import flat, run
from .differentiable import inputs_of, nodes
from .failure import Mismatch, Part, blamed
from .samples import Call

#: The backend whose tensors have no data, by its name and its device.
BACKEND, DEVICE = next((n, str(b["device"])) for n, b in BACKENDS.items() if not b["data"])


def to_meta(value: Any) -> Any:
    """The argument with its tensors on Meta."""
    if isinstance(value, tengen.Tensor):
        return value.to(DEVICE)
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_meta, value))
    if isinstance(value, tengen.device):
        return tengen.device(DEVICE)
    return value


def on_meta(call: Call, kind: Any) -> list[Any]:
    """The call's values with all tensors and devices on Meta."""
    return _on_device(call, [to_meta(v) for v in call.tensors(kind)])


def _on_device(call: Call, values: list[Any]) -> list[Any]:
    if call.operator.factory is not None:
        place = next(i for i, a in enumerate(call.arguments) if str(a.type) == "Device?")
        values[place] = tengen.device(DEVICE)
    return values


def needs_data(operator: Operator) -> str:
    """Why an operator cannot run without data."""
    if not declared.runs_on_meta(operator):
        return "its result's shape depends on data"
    there = operator.kernels.keys() & {BACKEND, *COMPOSITES} or not EXPRESSIONS.isdisjoint(operator.tags)
    return "" if there else f"{BACKEND} has no kernel of it"


def check_meta(case: Case) -> None:
    """Without data the results have the same shapes, dtypes and, where they are views, strides."""
    name, part = case.name, Part("kernel", BACKEND)
    result = run(name, case.values)
    expected = flat(result)
    if not expected and result is not None and not isinstance(result, (tuple, list)):
        return
    with blamed(case, "without data", part, f"the {BACKEND} kernel of {name} fails"):
        found = flat(run(name, on_meta(case.call, case.kind)))
    message = f"the {BACKEND} kernel of {name} gives another shape, dtype or layout"
    with blamed(case, "without data", part, message, called=(BACKEND, declared.main_backend())):
        if len(found) != len(expected):
            raise Mismatch(f"{case}: {len(found)} results are not {len(expected)}")
        for m, e in zip(found, expected, strict=True):
            if m.device.type != DEVICE:
                raise Mismatch(f"{case}: a result is on {m.device}")
            got, wanted = properties(m, m, e), properties(e, m, e)
            if got != wanted:
                raise Mismatch(f"{case}: {got} is not {wanted}", got=got, expected=wanted)


def properties(tensor: Any, found: Any, expected: Any) -> str:
    """What of a result is compared: of a view its strides too."""
    text = f"shape {tuple(tensor.shape)}, {tensor.dtype}"
    if expected.numel() and expected._is_view() and found._is_view():
        text += f", strides {tensor.stride()}, offset {tensor.storage_offset()}"
    return text


def no_layouts(operator: Operator) -> str:
    """Why the layouts of an operator's results are not compared."""
    if "shares_silently" in operator.tags:
        return "its results are temporaries"
    return "it writes to an argument" if declared.writes(operator) else needs_data(operator)


def check_layouts(case: Case) -> None:
    """For inputs of all layouts the results have the strides that they have with data."""
    name, part = case.name, Part("kernel", BACKEND)
    with blamed(case, "layouts", part, f"the {BACKEND} kernel of {name} gives another layout"):
        for given in arrangements(name):
            try:
                expected = flat(run(name, tensors(given.arrays, tengen.from_numpy)))
                values = [to_meta(v) for v in tensors(given.arrays, _described)]
                found = flat(run(name, _on_device(case.call, values)))
            except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
                continue  # a wider call may be none, and memory of an expanded tensor may not be there
            for m, e in zip(found, expected, strict=True):
                if m.shape != e.shape:
                    raise Mismatch(f"{given.text}: shape {tuple(m.shape)} is not {tuple(e.shape)}")
                if strides_that_matter(m) != strides_that_matter(e):
                    raise Mismatch(f"{given.text}: strides {m.stride()} are not {e.stride()}")


def _described(array: Any) -> Any:
    return to_meta(tengen.from_numpy(array))


def once(name: str) -> list[Case]:
    """One case of an operator, for a check that makes its own inputs."""
    return list(in_first_dtype(name))[:1]


def no_backward(operator: Operator) -> str:
    """Why no backward pass is tried without data."""
    spec = nodes().get(str(operator.name))
    if spec is None or not declared.implemented(spec):
        return "it has no derivative of its own"
    if not declared.deterministic(operator):
        return "its results are random"
    return needs_data(operator)


def check_backward(case: Case) -> None:
    """A backward pass runs without data, and gives gradients of the inputs' shapes."""
    values = on_meta(case.call, case.kind)
    inputs = [values[i] if j is None else values[i][j] for i, j in inputs_of(case.call, values)]
    for t in inputs:
        t.requires_grad_()
    name, part = case.name, Part("gradient")
    with blamed(case, "backward without data", part, f"the derivative of {name} fails without data"):
        results = [r for r in flat(run(name, values)) if r.requires_grad]
        if not results:
            return
        seeds = [tengen.ones_like(r) for r in results]
        found = tengen.autograd.grad(results, inputs, seeds, allow_unused=True)
        for g, t in zip(found, inputs, strict=True):
            if g is not None and (g.shape, g.dtype, g.device.type) != (t.shape, t.dtype, DEVICE):
                raise Mismatch(f"{case}: the gradient of {properties(t, t, t)} is of {properties(g, g, g)}")


def first_sample(name: str) -> list[Case]:
    """The first sample of an operator, in one dtype."""
    return list(in_first_dtype(name))[:1]


ASPECTS = (
    Aspect(
        "without data", "shapes without data", check_meta, in_working_dtypes, needs_data, after=("value",)
    ),
    Aspect("layouts", "layouts of results", check_layouts, once, no_layouts, after=("without data", "views")),
    Aspect(
        "backward without data",
        "derivatives without data",
        check_backward,
        first_sample,
        no_backward,
        after=(
            "without data",
            "gradient",
        ),
    ),
)
