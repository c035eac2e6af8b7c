"""The dtypes that out arguments may have, beside PyTorch, for every operator that has some."""

from __future__ import annotations

import types
import warnings
from typing import Any

import pytest

import tengen
from tengen.core.scalar_type import named
from tengen.testing.declared import calls, declared_operators, flat, operators, run
from tengen.testing.variants import out_variants, together, writes_list

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

DECLARED = declared_operators()
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
#: With the same arguments as PyTorch's; what makes tensors is given its dtype by out.
PAIRS = [
    (variant, name)
    for name in operators()
    if side.same_schema(DECLARED[name]) and DECLARED[name].factory is None
    for variant in out_variants(name)
    if side.overload(variant) is not None and torch.Tag.generated not in side.overload(variant).tags
]
#: The dtypes of the operands.
KINDS = [named(k) for k in ("bool", "int64", "float64", "complex128")]


def accepted(function: Any) -> bool:
    """Whether a call raises no error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return not side.failed(side.outcome(function))


def theirs(variant: str, name: str, values: list[Any], outs: list[Any]) -> None:
    """Torch's variant."""
    schema, overload = DECLARED[name].schema, side.overload(variant)
    words = [a.name for a in overload._schema.arguments if a.is_out]
    outs = [outs] if writes_list(variant) else outs
    rest = zip(schema.kwarg_only, values[len(schema.positional) :], strict=True)
    keywords = {a.name: side.value(v) for a, v in rest}
    positional = [side.value(v) for v in values[: len(schema.positional)]]
    overload(*positional, **keywords, **dict(zip(words, outs, strict=True)))


def results_of(name: str, call: Any, kind: Any) -> list[Any]:
    """The results, where both sides compute in this dtype."""
    found = side.outcome(run, name, call.tensors(kind))
    there = side.outcome(side.run, DECLARED[name], call.tensors(kind, make=side.from_array))
    return [] if side.failed(found) or side.failed(there) else flat(found)


@pytest.mark.parametrize(("variant", "name"), PAIRS)
def test_same_dtypes_are_taken(variant: str, name: str) -> None:
    """Each out argument in turn is of each dtype, the others as the results are."""
    differences = []
    for kind in KINDS:
        call = next((c for c in calls(name) if c.takes(kind)), None)
        results = [] if call is None else results_of(name, call, kind)
        for number in range(len(results)):
            for dtype in DTYPES:
                dtypes = [dtype if i == number else r.dtype.name for i, r in enumerate(results)]
                shapes = [tuple(r.shape) for r in results]

                def ours(
                    dtypes: Any = dtypes, shapes: Any = shapes, call: Any = call, kind: Any = kind
                ) -> None:
                    outs = [tengen.zeros(s, dtype=named(d)) for s, d in zip(shapes, dtypes, strict=True)]
                    run(variant, [*call.tensors(kind), together(variant, outs)])

                def there(
                    dtypes: Any = dtypes, shapes: Any = shapes, call: Any = call, kind: Any = kind
                ) -> None:
                    outs = [
                        torch.zeros(s, dtype=getattr(torch, d)) for s, d in zip(shapes, dtypes, strict=True)
                    ]
                    theirs(variant, name, call.tensors(kind, make=side.from_array), outs)

                if accepted(ours) is not accepted(there):
                    what = "taken" if accepted(ours) else "refused"
                    differences.append(f"{call} in {kind}, result {number} into {dtype}: {what}")
    side.fail_for(differences, DECLARED[name], "out")


def requiring(values: Any) -> Any:
    """These values; the tensors among them that can require grad do."""
    for value in values:
        if isinstance(value, (list, tuple)):
            requiring(value)
        elif hasattr(value, "requires_grad_") and (value.is_floating_point() or value.is_complex()):
            value.requires_grad_()
    return values


def differentiable(results: Any) -> bool:
    """Whether one of the results of a call requires grad."""
    listed = results if isinstance(results, (list, tuple)) else [results]
    return any(r.requires_grad for r in listed)


@pytest.mark.parametrize(("variant", "name"), PAIRS)
def test_results_without_gradients_are_written_where_inputs_require_grad(variant: str, name: str) -> None:
    """An out argument is refused just where what is written into it would have had a gradient."""
    kind = named("float64")
    call = next((c for c in calls(name) if c.takes(kind)), None)
    results = [] if call is None else results_of(name, call, kind)
    if call is None or not results:
        pytest.skip("not of float64")

    def ours() -> None:
        outs = [tengen.zeros(tuple(r.shape), dtype=r.dtype) for r in results]
        run(variant, [*requiring(call.tensors(kind)), together(variant, outs)])

    def there() -> None:
        outs = [torch.zeros(tuple(r.shape), dtype=getattr(torch, r.dtype.name)) for r in results]
        theirs(variant, name, requiring(call.tensors(kind, make=side.from_array)), outs)

    here = side.outcome(run, name, requiring(call.tensors(kind)))
    beside = side.outcome(side.run, DECLARED[name], requiring(call.tensors(kind, make=side.from_array)))
    assert accepted(ours) is not (side.failed(here) or differentiable(here))
    plain = not (side.failed(beside) or differentiable(beside)) and "gradient" not in DECLARED[name].differs
    if plain and accepted(there):
        assert accepted(ours)


@pytest.mark.parametrize(
    ("start", "taken"), [(0, True), (1, False), (3, True)], ids=["the same", "a part", "apart"]
)
def test_memory_that_is_shared(start: int, taken: bool) -> None:
    """An out argument may be an input, or lie beside it, but not share a part of its memory."""
    for library in (tengen, torch):
        memory = library.arange(8.0)
        found = accepted(lambda m=memory, t=library: t.exp(m[:3], out=m[start : start + 3]))
        assert found is taken, library.__name__


def test_named_tuples_are_pytorchs() -> None:
    """A call with ``out`` returns a named tuple of its own, which has the names of that without."""
    from tengen.generated import return_types
    from tengen.testing.declared import derived

    compared = 0
    for variant in derived().variants:
        name = f"{variant.base.function if variant.base else ''}_out"
        if variant.kind != "out" or not hasattr(torch.return_types, name):
            continue
        there, ours = getattr(torch.return_types, name), getattr(return_types, name)
        fields = tuple(n for n in vars(there) if isinstance(vars(there)[n], types.MemberDescriptorType))
        assert set(ours._fields) == set(fields), name
        assert issubclass(ours, getattr(return_types, name.removesuffix("_out")))
        compared += 1
    assert compared > 20
