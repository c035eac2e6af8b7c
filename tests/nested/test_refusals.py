"""Refusals of PyTorch's tests of nested tensors, and their like: here errors, too, or a loop's numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from refusals import ALONE, HERE_ALONE, OF_BOTH, A, Build, Refusal, jagged, numbers, strided
from refused_there import COMPUTED

import tengen
from tengen import Tensor
from tengen.core.operands import tensors_in
from tengen.testing import declared

LAYOUTS: dict[str, Build] = {"strided": strided, "jagged": jagged}
#: It joins the values, whatever they are values of.
TAKEN = ["cat of other sizes jagged"]


def given(table: dict[str, Any]) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("name", table)


def is_refused(refusal: Refusal) -> None:
    call, error, text = refusal
    with pytest.raises(error, match=text):
        call(tengen)


@given(ALONE | HERE_ALONE)
def test_is_refused(name: str) -> None:
    is_refused((ALONE | HERE_ALONE)[name])


@pytest.mark.parametrize("layout", LAYOUTS)
@given(OF_BOTH)
def test_is_refused_of_both_layouts(name: str, layout: str) -> None:
    call, error, text = OF_BOTH[name]
    is_refused((lambda m: call(m, LAYOUTS[layout]), error, text))


@given(COMPUTED)
def test_is_computed(name: str) -> None:
    call, loop = COMPUTED[name]
    result, expected = call(tengen), loop(tengen)
    assert [t.shape for t in result.unbind()] == [t.shape for t in expected]
    for one, other in zip(result.unbind(), expected, strict=True):
        tengen.testing.assert_close(one, other)


WRITES: dict[str, Callable[[Any, Build], Any]] = {
    "others": lambda n, x: n.add_(x(tengen, *A[::-1])),
    "more columns": lambda n, x: n.mul_(numbers(tengen, 2, 1, 1, 3)),
    "a copy": lambda n, x: n.copy_(x(tengen, *A[::-1])),
    "a mask": lambda n, x: n.masked_fill_(numbers(tengen, 3, 3) > 0, 0.0),
    "elements": lambda n, x: n.fill_(numbers(tengen, 1)),
    "out": lambda n, x: tengen.exp(x(tengen, *A[::-1]), out=n),
    "a part": lambda n, x: n.__setitem__((0, 0), 5.0),
    "a mask of its own": lambda n, x: n.__setitem__(n > 0, 5.0),
    "numbers of no dtype": lambda n, x: n.copy_(n * 1j),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@given(WRITES)
def test_what_is_refused_leaves_all_as_it_was(name: str, layout: str) -> None:
    n = LAYOUTS[layout](tengen, *A)
    before, size, version = n.clone().unbind(), n.shape, n._version
    with pytest.raises((RuntimeError, TypeError)):
        WRITES[name](n, LAYOUTS[layout])
    assert n.shape == size and n._version == version
    assert all([tengen.equal(one, other) for one, other in zip(n.unbind(), before, strict=True)])


#: Of errors that name an operator: `add: ...`, `linalg.cond(ord=1): ...`, `"fft" not implemented for`.
NAMES_ONE = re.compile(r"(\w[\w.]*(\(.*?\))?: |\"\w+\" not implemented for|\w[\w.]*\(\) )")
#: Of a tensor that stands for a number.
NO_NUMBER = "only one element tensors can be converted to Python scalars"


def in_components(x: Any) -> Any:
    """Jagged, with a ragged second dimension, whose components are ever shorter."""
    if x.ndim < 2 or not x.shape[0]:
        x = tengen.ones(2, 3, 2).to(x.dtype)
    rows = [row[: max(1, len(row) - i)] for i, row in enumerate(x.detach())]
    return tengen.nested.nested_tensor(rows, layout=tengen.jagged)


def with_jagged_tensors(values: list[Any]) -> Iterator[list[Any]]:
    """The arguments with each of the tensors jagged, then with all of them, and with each list of tensors."""

    def changed(value: Any) -> Any:
        listed = isinstance(value, list | tuple)
        return (
            [changed(v) for v in value]
            if listed
            else in_components(value)
            if isinstance(value, Tensor)
            else value
        )

    places = [i for i, v in enumerate(values) if tensors_in((v,))]
    for chosen in ([i] for i in places):
        yield [changed(v) if i in chosen else v for i, v in enumerate(values)]
    if len(places) > 1:
        yield [changed(v) for v in values]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_every_operator_takes_jagged_tensors_or_says_who_does_not(part: int) -> None:
    unnamed = []
    for name in list(declared.operators())[part::4]:
        for call in declared.calls(name)[:4]:
            values = call.tensors(declared.working_dtypes(call)[0])
            for given in with_jagged_tensors(list(values)):
                try:
                    declared.run(name, [v.clone() if isinstance(v, Tensor) else v for v in given])
                except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
                    if not NAMES_ONE.match(str(error)) and str(error) != NO_NUMBER:
                        unnamed.append(f"{name}: {error}")
    assert not unnamed


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_is_refused_by_torch(torch: Any) -> None:
    alone = {name: call for name, (call, *_) in (ALONE | COMPUTED).items()}
    both = {
        f"{name} {layout}": lambda m, call=call, x=x: call(m, x)
        for name, (call, _, _) in OF_BOTH.items()
        for layout, x in LAYOUTS.items()
    }
    taken = []
    for name, call in (alone | both).items():
        try:
            call(torch)
        except Exception:
            continue
        taken.append(name)
    assert taken == TAKEN
