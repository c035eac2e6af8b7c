"""The dtypes that out arguments may have, beside PyTorch, for every operator that has some."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tengen
from tengen.scalar_type import named
from tengen.testing.declared import calls, declared_operators, flat, operators, run
from tengen.testing.variants import out_variants

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

DECLARED = declared_operators()
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
#: Of one result, with the same arguments as PyTorch's, and a dtype of out that the declaration speaks of.
PAIRS = [
    (variant, name)
    for name in operators()
    if side.same_schema(DECLARED[name]) and DECLARED[name].out != "cast" and DECLARED[name].factory is None
    for variant in out_variants(name)
    if side.overload(variant) is not None and len(DECLARED[name].schema.returns) == 1
]


def accepted(function: Any) -> bool:
    """Whether a call raises no RuntimeError; other errors are not about the dtype of out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function()
        except RuntimeError as error:
            return isinstance(error, NotImplementedError)
    return True


@pytest.mark.parametrize(("variant", "name"), PAIRS)
def test_same_dtypes_are_taken(variant: str, name: str) -> None:
    call = calls(name)[0]
    kind = named("float64") if call.takes(named("float64")) else named("int64")
    try:
        expected = flat(run(name, call.tensors(kind)))[0]
    except (RuntimeError, NotImplementedError):
        pytest.skip("it does not compute in this dtype")
    differences = []
    for dtype in DTYPES:

        def ours(dtype: str = dtype) -> None:
            out = tengen.zeros(tuple(expected.shape), dtype=named(dtype))
            run(variant, [*call.tensors(kind), out])

        def theirs(dtype: str = dtype) -> None:
            out = torch.zeros(tuple(expected.shape), dtype=getattr(torch, dtype))
            values = call.tensors(kind, make=side.from_array)
            positional = len(DECLARED[name].schema.positional)
            rest = zip(DECLARED[name].schema.kwarg_only, values[positional:], strict=True)
            keywords = {a.name: side.value(v) for a, v in rest}
            given = [side.value(v) for v in values[:positional]]
            word = next(a.name for a in side.overload(variant)._schema.arguments if a.is_out)
            side.overload(variant)(*given, **keywords, **{word: out})

        if accepted(ours) is not accepted(theirs):
            differences.append(f"{call} into {dtype}: {'taken' if accepted(ours) else 'refused'}")
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize(
    ("start", "taken"), [(0, True), (1, False), (3, True)], ids=["the same", "a part", "apart"]
)
def test_memory_that_is_shared(start: int, taken: bool) -> None:
    """An out argument may be an input, or lie beside it, but not share a part of its memory."""
    for library in (tengen, torch):
        memory = library.arange(8.0)
        found = accepted(lambda m=memory, t=library: t.exp(m[:3], out=m[start : start + 3]))
        assert found is taken, library.__name__
