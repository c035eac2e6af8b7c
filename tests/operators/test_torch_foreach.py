"""The operators over lists of tensors beside PyTorch's: all names that torch has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

NAMES = sorted(name for name in dir(torch) if "foreach" in name)
#: The dtypes of the two tensors of each list.
DTYPES = (
    ("float64", "float64"), ("float32", "int64"), ("bfloat16", "float16"), ("complex64", "complex128"),
    ("bool", "uint8"),
)  # fmt: skip


def overloads(name: str) -> Iterator[str]:
    """PyTorch's overloads, without those with ``out``, which its functions have not."""
    return (o for o in getattr(torch.ops.aten, name).overloads() if not o.endswith("out"))


def arguments(schema: Any, make: Callable[[Any, str], Any], dtypes: tuple[str, str]) -> tuple[Any, Any]:
    """The arguments of a call of this schema, those by position and those by name."""
    random = np.random.default_rng(len(schema.arguments))
    positional, named = [], {}
    for argument in schema.arguments:
        kind = str(argument.real_type)
        if kind == "List[Tensor]":
            arrays = [random.uniform(0.1, 0.9, (3, 3)) * (5 if "int" in d else 1) for d in dtypes]
            value: Any = [make(array, d) for array, d in zip(arrays, dtypes, strict=True)]
        elif kind == "Tensor":
            value = make(np.array([0.5, 2.0] if argument.name == "scalars" else 2.0), "float32")
        elif kind.startswith("List["):
            value = [0.5, 2]
        elif kind in ("Optional[ScalarType]", "Optional[MemoryFormat]", "Optional[int]", "bool"):
            continue
        else:
            value = 2
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    return positional, named


def ours(array: Any, dtype: str) -> tengen.Tensor:
    return tengen.tensor(array).to(getattr(tengen, dtype))


def theirs(array: Any, dtype: str) -> Any:
    return torch.tensor(array).to(getattr(torch, dtype))


def outcome(call: Callable[..., Any], positional: Any, named: Any) -> Any:
    """Shapes, dtypes and values of the results and of what was written to; or the class of the error."""
    try:
        result = call(*positional, **named)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return {"NotImplementedError": "RuntimeError"}.get(type(error).__name__, type(error).__name__)
    lists = [x for x in positional if isinstance(x, list)]
    given = result is not None and any(result is x for x in lists)
    found = [t for x in [*lists, () if result is None or given else result] for t in x]
    assert result is None or given or isinstance(result, tuple)
    return result is None, given, [described(t) for t in found if hasattr(t, "dtype")]


def described(tensor: Any) -> tuple[tuple[int, ...], str, Any]:
    wide = tensor.to(torch.complex128 if isinstance(tensor, torch.Tensor) else tengen.complex128)
    return tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2], np.asarray(wide.numpy())


def assert_same(mine: Any, wanted: Any) -> None:
    assert type(mine) is type(wanted), (mine, wanted)
    if isinstance(mine, str):
        assert mine == wanted
        return
    assert mine[:2] == wanted[:2]
    for (shape, dtype, values), (wanted_shape, wanted_dtype, wanted_values) in zip(
        mine[2], wanted[2], strict=True
    ):
        assert (shape, dtype) == (wanted_shape, wanted_dtype)
        rtol = {"bfloat16": 2e-2, "float16": 2e-3, "float64": 1e-9, "complex128": 1e-9}.get(dtype, 1e-5)
        np.testing.assert_allclose(values, wanted_values, rtol=rtol)


@pytest.mark.parametrize("name", NAMES)
def test_schemas(name: str) -> None:
    wanted = {str(getattr(getattr(torch.ops.aten, name), o)._schema) for o in overloads(name)}
    mine = getattr(tengen.ops.aten, name)
    assert {str(getattr(mine, o)._schema) for o in mine.overloads()} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_results_and_what_is_written(name: str) -> None:
    for overload in overloads(name):
        schema = getattr(getattr(torch.ops.aten, name), overload)._schema
        for dtypes in DTYPES:
            mine = outcome(getattr(tengen, name), *arguments(schema, ours, dtypes))
            wanted = outcome(getattr(torch, name), *arguments(schema, theirs, dtypes))
            assert_same(mine, wanted)


def gradients(library: Any, name: str, positional: list[Any], named: Any) -> list[Any]:
    """The gradients of the sum of what a call gives, or leaves in its first list."""
    leaves = [t.requires_grad_() for x in positional if isinstance(x, list) for t in x if hasattr(t, "dtype")]
    first = positional[0]
    if name.endswith("_"):
        first = positional[0] = [t * 1 for t in first]
    result = getattr(library, name)(*positional, **named)
    sum([t.sum() * (i + 1) for i, t in enumerate(first if name.endswith("_") else result)]).backward()
    return [None if t.grad is None else t.grad.tolist() for t in leaves]


@pytest.mark.parametrize("name", [n for n in NAMES if n != "_amp_foreach_non_finite_check_and_unscale_"])
def test_gradients(name: str) -> None:
    for overload in overloads(name):
        schema = getattr(getattr(torch.ops.aten, name), overload)._schema
        dtypes = ("float64", "float64")
        mine = gradients(tengen, name, *arguments(schema, ours, dtypes))
        try:
            others = gradients(torch, name, *arguments(schema, theirs, dtypes))
        except RuntimeError as error:  # a few have no derivative in PyTorch
            assert "is not implemented" in str(error)
            continue
        for found, wanted in zip(mine, others, strict=True):
            assert (found is None) == (wanted is None)
            if found is not None:
                np.testing.assert_allclose(found, wanted, rtol=1e-6)


A, B = np.ones(2), np.ones(3)
#: Bad calls: the name, the arguments, where an array is a tensor, and a part of torch's text.
MISTAKES: list[tuple[str, tuple[Any, ...], str]] = [
    ("_foreach_add", ([A, B], [A]), "lists must have the same number of tensors, got 2 "),
    ("_foreach_add_", ([A, B], [1.0]), "list must have same number of elements as scalar list"),
    ("_foreach_add", ([], []), "Tensor list must have at least one tensor"),
    ("_foreach_mul_", ([], 1), "Tensor list must have at least one tensor"),
    ("_foreach_abs", ([],), "Tensor list must have at least one tensor"),
    ("_foreach_pow", (2.0, []), "Tensor list must have at least one tensor"),
    (
        "_foreach_add",
        ([A, B], A),
        "scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements",
    ),
    ("_foreach_addcmul", ([A, B], [A, B], [A, B], np.ones(1)), "match input of length 2 but got 1 instead"),
    ("_foreach_addcdiv_", ([A, B], [A, B], [A, B], np.ones((2, 2))), "to be of dimension 1. Got 2 instead"),
    ("_foreach_addcmul", ([A, B], [A], [A, B]), "lists must have the same number of tensors, got 2 "),
    ("_foreach_lerp", ([A, B], [A, B], [0.5]), "list must have same number of elements as scalar list"),
    ("_foreach_copy_", ([A, B], [A]), "lists must have the same number of tensors, got 2 "),
    ("_foreach_add", ([A, B], "x"), "_foreach_add() received an invalid combination of arguments"),
    ("_foreach_add", (A, 1), "_foreach_add() received an invalid combination of arguments"),
    ("_foreach_norm", ([A], "x"), "_foreach_norm(): argument 'ord' (position 2) must be Number, not str"),
    ("_foreach_abs", (3,), "_foreach_abs(): argument 'self' (position 1) must be tuple of Tensors, not int"),
    ("_foreach_sub", ([A > 0], [A > 0]), "Subtraction, the `-` operator, with "),
    ("_foreach_add_", ([np.ones(1, int)], 1.5), "result type Float can't be cast to the desired output type"),
]


@pytest.mark.parametrize(("name", "given", "text"), MISTAKES)
def test_mistakes(name: str, given: tuple[Any, ...], text: str) -> None:
    def made(value: Any, library: Any) -> Any:
        if isinstance(value, list):
            return [made(x, library) for x in value]
        return library.tensor(value.tolist()) if isinstance(value, np.ndarray) else value

    raised = []
    for library in (torch, tengen):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            getattr(library, name)(*[made(x, library) for x in given])
        assert text in str(caught.value)
        raised.append(caught.type)
    assert raised[0] is raised[1]
    assert name.rstrip("_") in f"{caught.value}" or "result type" in text or "Subtraction" in text
