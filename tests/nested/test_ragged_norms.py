"""``layer_norm`` over the ragged dimension: each component by itself."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen import nested
from tengen.nn import functional as F

SIZES = ((2, 3), (4, 3), (1, 3))


def components(*trailing: int) -> list[Any]:
    generator = tengen.Generator().manual_seed(3)
    return [tengen.randn(*size, *trailing, generator=generator) for size in SIZES]


def turned(x: Any) -> Any:
    return x.transpose(1, 2)


@pytest.mark.parametrize("layout", [tengen.jagged, tengen.strided])
@pytest.mark.parametrize("trailing", [(), (2,)])
def test_values_and_gradients_are_those_of_a_loop(layout: Any, trailing: tuple[int, ...]) -> None:
    parts = [part.requires_grad_() for part in components(*trailing)]
    x = nested.as_nested_tensor(parts, layout=layout)
    ours = F.layer_norm(x, tuple(x.shape[1:]) if layout is tengen.jagged else sizes_of(x)).unbind()
    theirs = [F.layer_norm(part, part.shape) for part in parts]
    for a, b in zip(ours, theirs, strict=True):
        tengen.testing.assert_close(a, b)
    found = tengen.autograd.grad(sum([(a * a.detach().sin()).sum() for a in ours]), parts)
    wanted = tengen.autograd.grad(sum([(b * b.detach().sin()).sum() for b in theirs]), parts)
    tengen.testing.assert_close(found, wanted)


def sizes_of(x: Any) -> tuple[Any, ...]:
    return tuple([x._array.shape[d] for d in range(1, x.ndim)])


def test_a_later_dimension_is_ragged() -> None:
    x = nested.nested_tensor(components(2), layout=tengen.jagged).transpose(1, 2)
    for a, b in zip(F.layer_norm(x, tuple(x.shape[2:])).unbind(), x.unbind(), strict=True):
        tengen.testing.assert_close(a, F.layer_norm(b, b.shape[1:]))


def test_gaps_do_not_count() -> None:
    rows = tengen.randn(2, 5, 3)
    x = nested.narrow(rows, 1, tengen.tensor([0, 2]), tengen.tensor([2, 3]), layout=tengen.jagged)
    for a, b in zip(F.layer_norm(x, tuple(x.shape[1:])).unbind(), (rows[0, :2], rows[1, 2:]), strict=True):
        tengen.testing.assert_close(a, F.layer_norm(b, b.shape))


def test_refusals() -> None:
    x = nested.nested_tensor(components(), layout=tengen.jagged)
    own = tuple(x.shape[1:])
    with pytest.raises(
        RuntimeError,
        match=r"nothing that rows share where they are over a ragged dimension, but got one of \[4, 3\]",
    ):
        F.layer_norm(x, own, tengen.ones(4, 3))
    with pytest.raises(
        RuntimeError, match="expected normalized_shape to be the last sizes of the nested tensor"
    ):
        F.layer_norm(x, (4, 3))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_as_in_torch() -> None:
    import torch

    parts = components()
    ours = nested.nested_tensor(parts, layout=tengen.jagged)
    theirs = torch.nested.nested_tensor([torch.tensor(part.tolist()) for part in parts], layout=torch.jagged)
    a = F.layer_norm(ours, tuple(ours.shape[1:])).values()
    b = torch.nn.functional.layer_norm(theirs, tuple(theirs.shape[1:])).values()
    assert a.tolist() == [pytest.approx(row, abs=1e-5) for row in b.tolist()]
