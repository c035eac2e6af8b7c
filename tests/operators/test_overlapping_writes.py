"""Writes into memory that an operand shares, and into memory that overlaps itself, for every operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sharing import PARTNERS, Place, named, places, samples, together

import tengen
from tengen.testing.declared import flat, run, variants
from tengen.testing.samples import Call

#: PyTorch's words for what is refused.
SHARED = "some elements of the input tensor and the written-to tensor refer to a single memory location"
EXPANDED = "more than one element of the written-to tensor refers to a single memory location"


def rule(name: str, call: Call, place: Place) -> str:
    """What an argument may share with what is written, as declared."""
    return variants()[name].operator.overlap.get(call.arguments[place.argument].name, "")


def runs(name: str, values: list[Any]) -> bool:
    """Whether the operator takes the arguments, which are written to."""
    try:
        run(name, values)
    except (RuntimeError, NotImplementedError, IndexError, ValueError):
        return False
    return True


def is_refused(name: str, values: list[Any], text: str, memory: Any) -> None:
    """The write is an error, and nothing is changed."""
    before, version = memory.clone(), memory._version
    with pytest.raises(RuntimeError, match=text):
        run(name, values)
    np.testing.assert_array_equal(memory.numpy(), before.numpy(), name)
    assert memory._version == version


@pytest.mark.parametrize("name", named("inplace"))
def test_operands_in_place(name: str) -> None:
    """A part of an operand is not written to; all of it may be, unless the declaration says otherwise."""
    for call, kind in samples(name):
        values = call.tensors(kind)
        if not isinstance(values[0], tengen.Tensor) or not runs(name, call.tensors(kind)):
            continue
        for place in places(values):
            allowed = rule(name, call, place)
            for whole in (False, True):
                pair = place.argument and together(values[0], place.get(values), whole)
                if not pair or allowed == "free":
                    continue
                given = place.put([pair[0], *values[1:]], pair[1])
                if not whole or allowed == "none":
                    is_refused(name, given, SHARED, pair[0]._base)
                else:
                    copied = place.put([pair[0].clone(), *values[1:]], pair[1].clone())
                    if runs(name, [copied[0].clone(), *copied[1:]]):
                        expected = run(name, copied)
                        np.testing.assert_array_equal(run(name, given).numpy(), expected.numpy(), str(call))


@pytest.mark.parametrize("name", [n for n in named("out") if variants()[n].operator.factory is None])
def test_operands_and_out(name: str) -> None:
    """The same with an out argument."""
    base = PARTNERS[name][1]
    for call, kind in samples(name):
        values = call.tensors(kind)
        try:
            results = flat(run(base, values))
        except (RuntimeError, NotImplementedError, IndexError):
            continue
        fresh = [tengen.empty(tuple(r.shape), dtype=r.dtype) for r in results]
        if not all(r.numel() for r in results) or not runs(name, [*values, out_of(fresh)]):
            continue
        for place in places(values):
            for whole in (False, True):
                pair = together(results[0], place.get(values), whole)
                allowed = rule(name, call, place)
                if pair and allowed != "free" and (not whole or allowed == "none"):
                    given = [*place.put(values, pair[1]), out_of([pair[0], *fresh[1:]])]
                    is_refused(name, given, SHARED, pair[0]._base)


def over_arrays(values: list[Any], place: Place, written: Any, read: Any) -> list[Any]:
    """The arguments with arrays as what is written and as one operand, and ones as the other tensors."""
    others = [tengen.ones(1, dtype=v.dtype) if isinstance(v, tengen.Tensor) else v for v in values[1:]]
    return place.put([tengen.from_numpy(written), *others], tengen.from_numpy(read))


@pytest.mark.parametrize("name", named("inplace"))
def test_arrays_that_share_memory(name: str) -> None:
    """Of arrays with common memory, which no Storage tells of, one is written as if it were not common.

    An element that is written too early makes a difference of the size of the numbers. NumPy may choose
    another loop where it makes copies: all of its functions are right to 4 units in the last place.
    """
    for call, kind in samples(name):
        values = call.tensors(kind)
        if not isinstance(values[0], tengen.Tensor) or kind not in (tengen.float32, tengen.float64):
            continue
        for place in places(values):
            if not place.argument or place.get(values).dtype is not kind:
                continue
            for shift in (0, 1):
                memory = np.random.default_rng(0).uniform(0.1, 0.9, 41).astype(kind.name)
                pair = memory[shift:][:40], memory[1 - shift :][:40]
                copied = over_arrays(values, place, pair[0].copy(), pair[1].copy())
                if runs(name, copied):
                    found, unit = run(name, over_arrays(values, place, *pair)), np.finfo(kind.name).eps
                    np.testing.assert_allclose(found.numpy(), copied[0].numpy(), rtol=8 * unit, atol=0)


def out_of(results: list[Any]) -> Any:
    """What is given for ``out``."""
    return tuple(results) if len(results) > 1 else results[0]


@pytest.mark.parametrize("name", named("inplace"))
def test_expanded_memory(name: str) -> None:
    """Expanded memory is not written to, save by what writes one value everywhere."""
    operator = variants()[name].operator
    allowed = operator.overlap.get(operator.schema.arguments[0].name) == "free"
    for call, kind in samples(name):
        values = call.tensors(kind)
        first = values[0]
        if not isinstance(first, tengen.Tensor) or not first.ndim or len(first) < 2 or not first.numel():
            continue
        if runs(name, call.tensors(kind)):
            memory = first[:1].clone()
            given = [memory.expand(first.shape), *values[1:]]
            if not allowed:
                is_refused(name, given, EXPANDED, memory)
            else:
                expected = run(name, call.tensors(kind))
                np.testing.assert_array_equal(run(name, given).numpy(), expected.numpy())


#: Operators that make what ``out`` holds, and what they write there.
MADE: dict[str, Any] = {
    "full": lambda out: tengen.full((2, 3), 5, out=out),
    "ones": lambda out: tengen.ones(2, 3, out=out),
    "zeros": lambda out: tengen.zeros(2, 3, out=out),
    "eye": lambda out: tengen.eye(2, 3, out=out),
    "rand": lambda out: tengen.rand(2, 3, out=out),
    "randint": lambda out: tengen.randint(3, (2, 3), out=out),
    "arange": lambda out: tengen.arange(3, out=out[0]),
    "linspace": lambda out: tengen.linspace(0, 2, 3, out=out[0]),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 3)])
def test_expanded_outputs(name: str, sizes: tuple[int, int]) -> None:
    """They are written to by what puts one number everywhere, as declared."""
    memory = tengen.full(sizes, 7.0)
    out = memory.expand(2, 3)
    if variants()[f"{name}.out"].operator.overlap.get("out") == "free":
        expected = MADE[name](tengen.zeros(2, 3)).tolist()
        assert MADE[name](out).tolist() == expected and (memory == expected[0][0]).all()
        assert MADE[name](tengen.zeros(1, device="meta").expand(2, 3)).stride() == (0, 0)
    elif sizes[1] == 1:
        with pytest.raises(RuntimeError, match=EXPANDED):
            MADE[name](out)
        assert (memory == 7).all()


# -- assignments ---------------------------------------------------------------------------------


def assigned(index: Any, value: Any) -> Any:
    """A function that makes such an assignment."""
    return lambda x: x.__setitem__(index(x) if callable(index) else index, value(x))


REFUSED = {
    "a slice to the next": assigned(slice(1, None), lambda x: x[:-1]),
    "a row": assigned(slice(None), lambda x: x[1:2].expand(4)[:4][1:3].expand(2)[:1]),
    "indices": assigned(tengen.tensor([0, 1]), lambda x: x[1:3]),
    "all by indices": assigned(tengen.tensor([0, 1, 2, 3]), lambda x: x),
    "all by a mask": assigned(lambda x: x > -1, lambda x: x),
}
TAKEN = {
    "itself": (assigned(slice(None), lambda x: x), [0.0, 1.0, 2.0, 3.0]),
    "an element everywhere": (assigned(slice(None), lambda x: x[2]), [2.0] * 4),
    "an element by a mask": (assigned(lambda x: x > 1, lambda x: x[0]), [0.0, 1.0, 0.0, 0.0]),
    "an element": (assigned(0, lambda x: x[3]), [3.0, 1.0, 2.0, 3.0]),
    "what lies beside it": (assigned(slice(0, 2), lambda x: x[2:]), [2.0, 3.0, 2.0, 3.0]),
    "between": (assigned(slice(0, None, 2), lambda x: x[1::2]), [1.0, 1.0, 3.0, 3.0]),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_assignments_of_a_part_are_refused(name: str, recorded: bool) -> None:
    """Nothing is changed by an assignment from memory that it would write to."""
    leaf = tengen.arange(4.0).requires_grad_(recorded)
    x = leaf.clone() if recorded else leaf
    with pytest.raises(RuntimeError, match=SHARED):
        REFUSED[name](x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_assignments_from_the_same_memory(name: str, recorded: bool) -> None:
    """What does not overlap in part is assigned, with the right gradient."""
    assignment, expected = TAKEN[name]
    leaf = tengen.arange(4.0).requires_grad_(recorded)
    x = leaf.clone() if recorded else leaf
    assignment(x)
    assert x.tolist() == expected
    if recorded:
        x.sum().backward()
        assert leaf.grad is not None
        assert leaf.grad.sum() == 4  # each element of the result is one of the leaf's


def test_a_mask_may_write_to_itself() -> None:
    mask = tengen.tensor([True, False, True])
    mask[mask] = False
    assert not mask.any()


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_neighbours_share_nothing(device: str) -> None:
    """Memory that begins where other memory ends, with data and without; one element more is refused."""
    x = tengen.zeros(6, device=device)
    x[:2].add_(x[2:4])
    x[2:4].add_(x[:2])
    x.view(3, 2)[1].mul_(x.view(3, 2)[2])
    tengen.add(x[:2], x[4:], out=x[2:4])
    for start in (1, 3):
        with pytest.raises(RuntimeError, match=SHARED):
            x[2:4].add_(x[start : start + 2])
