"""vmap: for every operator and sample, all examples at once give what one after the other gives."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.codegen.model import Operator
from tengen.operator import operator as find_operator
from tengen.testing.declared import (
    calls,
    determined,
    deterministic,
    flat,
    has_values,
    operators,
    run,
    tensors_in,
    variants,
    working_dtypes,
    writes,
)

#: Where a tensor stands among the arguments: its number, and that in a list.
Slot = tuple[int, int | None]

#: What cannot be said of many examples at once: its text tells why.
REFUSALS = (
    "dynamic shape",
    "differently shaped",
    "data-dependent",
    ".item()",
    "access data pointer",
    "number of classes",
)

CHOSEN = [n for n, o in operators().items() if deterministic(o) and has_values(o) and not writes(o)]
EXAMPLES = 3


def examples(tensor: Any) -> list[Any]:
    """Three examples of the same kind: what is sorted, unique or a good index stays so, turned around."""
    other = tensor.flip(tuple(range(tensor.ndim))) if tensor.ndim else tensor
    if not tensor.ndim and tensor.is_floating_point():
        other = tensor * 0.5
    return [tensor.clone(), other.clone(), tensor.clone()]


def slots_of(values: Sequence[Any]) -> list[Slot]:
    """Where there are tensors."""
    found: list[Slot] = []
    for i, value in enumerate(values):
        if isinstance(value, tengen.Tensor):
            found.append((i, None))
        elif isinstance(value, (list, tuple)):
            found += [(i, j) for j, part in enumerate(value) if isinstance(part, tengen.Tensor)]
    return found


def choices(values: Sequence[Any]) -> Iterator[tuple[Slot, ...]]:
    """Which tensors are of examples: each alone, each pair, all."""
    slots = slots_of(values)
    yield from [(s,) for s in slots]
    yield from itertools.combinations(slots, 2)
    if len(slots) > 2:
        yield tuple(slots)


def placed(values: Sequence[Any], slots: Sequence[Slot], tensors: Sequence[Any]) -> list[Any]:
    """The arguments with tensors in these slots."""
    given = [list(v) if isinstance(v, (list, tuple)) else v for v in values]
    for (i, j), tensor in zip(slots, tensors, strict=True):
        if j is None:
            given[i] = tensor
        else:
            given[i][j] = tensor
    return given


def at(values: Sequence[Any], slots: Sequence[Slot]) -> list[Any]:
    """The tensors in the slots."""
    return [values[i] if j is None else values[i][j] for i, j in slots]


def one_by_one(function: Callable[..., list[Any]], columns: Sequence[list[Any]]) -> list[Any] | None:
    """The stacked results of each example; None where an example alone is an error, or none is a tensor."""
    try:
        found = [function(*row) for row in zip(*columns, strict=True)]
    except Exception:
        return None
    if not found[0]:
        return []
    if any(a.shape != b.shape for a, b in zip(found[0], found[1], strict=True)):
        return []
    return [tengen.stack(list(parts)) for parts in zip(*found, strict=True)]


def agree(got: Sequence[Any], wanted: Sequence[Any], what: str) -> None:
    assert len(got) == len(wanted), what
    for a, b in zip(got, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-8, err_msg=what)


def compare(
    operator: Operator,
    function: Callable[..., list[Any]],
    columns: Sequence[list[Any]],
    in_dim: int,
    what: str,
) -> None:
    """All at once against one by one; a refusal must say why, and is none where nothing stands in the way."""
    wanted = one_by_one(function, columns)
    if wanted is None:
        return
    given = [tengen.stack(column, in_dim) for column in columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an operator without a rule is run for one example after the other
        try:
            got = tengen.vmap(function, in_dims=in_dim)(*given)
        except RuntimeError as error:
            assert any(text in str(error) for text in REFUSALS), f"{what}: {error}"
            return
    agree(got, wanted, what)


@pytest.mark.parametrize("name", CHOSEN)
def test_all_at_once_is_one_by_one(name: str) -> None:
    operator = operators()[name]
    strided = "needs_exact_strides" in operator.tags
    for call in calls(name):
        for kind in working_dtypes(call):
            values = call.tensors(kind)
            for slots in choices(values):
                columns = [examples(t) for t in at(values, slots)]

                def function(*tensors: Any, values: Any = values, slots: Any = slots) -> list[Any]:
                    return list(determined(operator, run(name, placed(values, slots, tensors))))

                for in_dim in (0,) if strided else (0, -1):
                    compare(operator, function, columns, in_dim, f"{call} over {slots} in {in_dim}")


def test_most_operators_have_a_rule() -> None:
    """Few that have kernels of their own are run for one example after the other."""
    own = [v for v in variants().values() if v.kind in ("functional", "view") and takes_tensors(v.operator)]
    without = [str(v.name) for v in own if v.operator.batching is None and not explicit(v.operator)]
    assert len(own) > 400 and len(without) <= len(own) // 100, without


def takes_tensors(operator: Operator) -> bool:
    return any(a.is_tensor_like for a in operator.schema.arguments)


def explicit(operator: Operator) -> bool:
    """Whether the operator calls others."""
    return "CompositeExplicitAutograd" in operator.kernels


def test_an_operator_without_a_rule_is_run_for_each_example() -> None:
    x = tengen.tensor([[0, 1, 1], [2, 2, 2]])
    with pytest.warns(UserWarning, match="performance drop.*batching rule for bincount"):
        found = tengen.vmap(lambda row: row.bincount(minlength=3))(x)
    assert found.tolist() == [[1, 2, 0], [0, 0, 3]]
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="different shapes"):
        tengen.vmap(lambda row: row.bincount())(x)


@pytest.mark.parametrize("name", CHOSEN)
def test_levels_nest(name: str) -> None:
    """The first tensor is of the examples of one level, the last of those of another."""
    operator = operators()[name]
    call = calls(name)[0]
    for kind in working_dtypes(call)[:1]:
        values = call.tensors(kind)
        slots = slots_of(values)
        if len(slots) < 2:
            continue
        ends = (slots[0], slots[-1])
        outer, inner = [examples(t)[:2] for t in at(values, ends)]

        def function(a: Any, b: Any, values: Any = values, ends: Any = ends) -> list[Any]:
            return list(determined(operator, run(name, placed(values, ends, (a, b)))))

        rows = [one_by_one(function, ([a, a], inner)) for a in outer]
        if any(not r for r in rows):
            continue
        wanted = [tengen.stack(list(parts)) for parts in zip(*rows, strict=True)]
        nested = tengen.vmap(tengen.vmap(function, in_dims=(None, 0)), in_dims=(0, None))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                got = nested(tengen.stack(outer), tengen.stack(inner))
            except RuntimeError as error:
                assert any(text in str(error) for text in REFUSALS), f"{call}: {error}"
                continue
        agree(got, wanted, str(call))


def written(name: str) -> list[str]:
    """The in-place variants of an operator."""
    return [n for n, v in variants().items() if v.kind == "inplace" and str(v.base) == name]


@pytest.mark.parametrize("name", [n for n in CHOSEN if written(n)])
def test_in_place_writes_into_each_example(name: str) -> None:
    """It does what the functional operator does, to the very memory that was given."""
    operator = operators()[name]
    for variant in written(name):
        for call in calls(name):
            for kind in working_dtypes(call)[:1]:
                values = call.tensors(kind)
                for others in ((), tuple(slots_of(values)[1:])):
                    slots: tuple[Slot, ...] = ((0, None), *others)
                    columns = [examples(t) for t in at(values, slots)]

                    def function(
                        *tensors: Any, values: Any = values, slots: Any = slots, variant: str = variant
                    ) -> list[Any]:
                        given = placed(values, slots, [tensors[0].clone(), *tensors[1:]])
                        result = run(variant, given)
                        assert result is given[0]
                        return [given[0]]

                    compare(operator, function, columns, 0, f"{variant}({call.text})")
                    compare(operator, function, columns, -1, f"{variant}({call.text}), last")


def test_an_in_place_operator_is_seen_by_the_base() -> None:
    base = tengen.arange(6.0).reshape(2, 3)
    tengen.vmap(lambda row: row[1:].mul_(10))(base)
    assert base.tolist() == [[0, 10, 20], [3, 40, 50]]


RANDOM = [n for n, o in operators().items() if not deterministic(o) and not n.startswith("empty")]


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_drawn_as_vmap_was_told(name: str) -> None:
    """For "same" examples are alike; "error" is one, if anything is drawn; shapes are a loop's."""
    call = calls(name)[0]
    kind = (working_dtypes(call) or [tengen.float64])[0]
    values = call.tensors(kind)
    slots = [s for s in slots_of(values)][:1]

    def function(_: Any, *tensors: Any) -> list[Any]:
        given = placed(values, slots, [t.clone() for t in tensors])
        return flat(find_operator(name)(*given))

    alone = function(None, *at(values, slots))
    given = [tengen.stack([t] * EXAMPLES) for t in at(values, slots)]
    marker = tengen.zeros(EXAMPLES)
    for randomness in ("same", "different"):
        found = tengen.vmap(function, randomness=randomness)(marker, *given)
        for whole, single in zip(found, alone, strict=True):
            assert whole.shape == (EXAMPLES, *single.shape) and whole.dtype is single.dtype
            if randomness == "same":
                assert all(np.array_equal(e.numpy(), whole[0].numpy(), equal_nan=True) for e in whole)
    again = function(None, *at(values, slots))
    if any(not np.array_equal(a.numpy(), b.numpy()) for a, b in zip(alone, again, strict=True)):
        with pytest.raises(RuntimeError, match="randomness error mode"):
            tengen.vmap(function)(marker, *given)


def differentiable(values: Sequence[Any]) -> list[Any]:
    return [t for t in tensors_in(values) if t.is_floating_point() or t.is_complex()]


@pytest.mark.parametrize("name", CHOSEN)
def test_gradients_of_many(name: str) -> None:
    """``is_grads_batched``: what backward formulas call has rules too."""
    operator = operators()[name]
    for call in calls(name)[:2]:
        for kind in working_dtypes(call)[:2]:
            values = call.tensors(kind)
            inputs = [t.requires_grad_() for t in differentiable(values)]
            try:
                found = determined(operator, run(name, values))
            except Exception:
                continue  # it has no such derivative
            outputs = [t for t in found if t.requires_grad]
            if not inputs or not outputs:
                continue
            each = [random_like(t, seed) for seed, t in enumerate(outputs)]

            def gradients(grads: Any, many: bool, outputs: Any = outputs, inputs: Any = inputs) -> Any:
                return tengen.autograd.grad(
                    outputs, inputs, grads, retain_graph=True, allow_unused=True, is_grads_batched=many
                )

            try:
                wanted = [gradients([g[i].clone() for g in each], False) for i in range(EXAMPLES)]
            except Exception:
                continue
            for got, parts in zip(gradients(each, True), zip(*wanted, strict=True), strict=True):
                if got is None or parts[0] is None:
                    assert got is None and parts[0] is None, str(call)
                else:
                    agree([got], [tengen.stack(list(parts))], str(call))


def random_like(tensor: Any, seed: int) -> Any:
    """Gradients for a tensor, one for each example."""
    generator = tengen.Generator().manual_seed(seed)
    return tengen.randn(EXAMPLES, *tensor.shape, dtype=tensor.dtype, generator=generator)
