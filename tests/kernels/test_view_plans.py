"""Views by the forms of their bodies: what kernels that show some at once give, and PyTorch."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from view_facts import geometry, outcome

import tengen
from tengen.generated import views as forms
from tengen.kernels.meta.array import MetaArray
from tengen.kernels.view_plans import viewed
from tengen.testing.declared import declarations

#: The operators that have a body, by the names of their forms.
OPERATORS = {o.name.method: o for o in declarations().operators if o.view is not None}
SHAPES = [(), (1,), (4,), (0,), (2, 3), (3, 1), (1, 1, 2), (2, 3, 4), (0, 3), (2, 0, 3), (2, 1, 3, 1)]


def arrays(shape: tuple[int, ...]) -> list[Any]:
    """Arrays of a shape, in several layouts."""
    full = np.arange(4 * 3 * 4 * 3 * 2 + 8, dtype=np.float32)
    size = int(np.prod(shape))
    plain = full[:size].reshape(shape)
    found = [plain, full[3 : 3 + size].reshape(shape[::-1]).T]
    if shape and size:
        found.append(full[: 2 * size].reshape(*shape[:-1], 2 * shape[-1])[..., ::2])
        found.append(np.broadcast_to(full[: shape[-1]], shape))
    return found


def arguments(rng: random.Random, name: str, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Arguments of an operator for a shape, by their types; now and then such that do not fit."""
    given: list[Any] = []
    ndim = len(shape)
    for a in OPERATORS[name].schema.arguments[1:]:
        kind = str(a.type)
        if a.name.startswith("dim") and "[" not in kind:
            given.append(rng.randint(-ndim - 1, ndim))
        elif a.name.startswith("dim"):
            dims = [d - rng.choice([0, ndim]) for d in rng.sample(range(ndim), ndim)]
            given.append(tuple(dims[: rng.choice([ndim, rng.randint(0, ndim)])]))
        elif "[" in kind:
            first = rng.randint(0, 2)
            given.append((first, max(0, max(shape, default=1) - first)))
        else:
            given.append(rng.randint(-1, 3))
    return tuple(given)


def calls(name: str, count: int = 12) -> Any:
    rng = random.Random(name)
    for shape in SHAPES:
        for _ in range(count):
            yield shape, arguments(rng, name, shape)


def same(ours: Any, theirs: Any, where: Any) -> None:
    """That two outcomes are: errors, or views of one geometry, or so many of these."""
    if isinstance(ours, type) or isinstance(theirs, type):
        assert isinstance(ours, type) and isinstance(theirs, type), where
        return
    ours, theirs = [[*x] if isinstance(x, tuple | list) else [x] for x in (ours, theirs)]
    assert [*map(geometry, ours)] == [*map(geometry, theirs)], where


@pytest.mark.parametrize("name", OPERATORS)
def test_forms_say_what_kernels_show(name: str) -> None:
    """Also where a kernel shows at once what a body says, on arrays and without."""
    operator: Callable[..., Any] = getattr(tengen.ops.aten, OPERATORS[name].name.base)
    for shape, given in calls(name):
        exchanged = name == "transpose_int" and len({d % max(1, len(shape)) for d in given}) == 1
        if exchanged:  # which leaves all where it is: a form is of two dims
            continue
        for array in arrays(shape):
            tensor = tengen.from_numpy(array)
            kernel = outcome(operator, tensor, *given)
            if not isinstance(kernel, type):
                kernel = [t._array for t in kernel] if isinstance(kernel, tuple | list) else kernel._array
            same(outcome(viewed, getattr(forms, name), tensor._array, *given), kernel, (name, shape, given))
        meta = MetaArray(shape, np.dtype(float))
        form = outcome(viewed, getattr(forms, name), meta, *given)
        same(form, outcome(viewed, getattr(forms, name), np.zeros(shape), *given), (name, shape, given))


def described(tensors: Any) -> list[Any]:
    """Sizes, strides and offset of each; without elements NumPy keeps neither offset nor strides of 0."""
    found = []
    for t in tensors if isinstance(tensors, tuple | list) else [tensors]:
        strides = t.stride() if t.numel() or any(t.stride()) else None
        found.append((tuple(t.shape), strides, t.storage_offset() if t.numel() else None))
    return found


def told(function: Callable[..., Any], *args: Any) -> Any:
    """What it gives, described, or the class and the text of the error, without the name before it."""
    try:
        return described(function(*args))
    except (RuntimeError, IndexError) as error:
        return type(error), re.sub(r"^\w+(\(\w*\))?: ", "", str(error).partition("\n")[0]).rstrip(".")


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPERATORS)
def test_against_torch(name: str) -> None:
    """Sizes, strides, offsets, and the texts of errors."""
    torch = pytest.importorskip("torch")
    base = OPERATORS[name].name
    theirs = getattr(getattr(torch.ops.aten, base.base), base.overload or "default")
    for shape, given in calls(name, 30):
        for array in arrays(shape):
            wanted = told(theirs, torch.from_numpy(array), *given)
            found = told(getattr(tengen.ops.aten, base.base), tengen.from_numpy(array), *given)
            if isinstance(wanted, list) and isinstance(found, list):
                found = [
                    f if w[1] is not None else (f[0], *w[1:]) for f, w in zip(found, wanted, strict=True)
                ]
            assert found == wanted, (shape, given, array.strides)
