"""Shape operators beside PyTorch: values, strides, what is a view, two derivatives, errors, Meta."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

Shape = tuple[int, ...]
ERRORS = (RuntimeError, IndexError, ValueError, TypeError)


class Case:
    """A call in both libraries: ``call(library, *tensors)`` for tensors of the given shapes."""

    def __init__(self, call: Callable[..., Any], *shapes: Shape, meta: bool = True) -> None:
        self.call, self.shapes, self.meta = call, shapes, meta


def method(name: str, *args: Any, **keywords: Any) -> Callable[..., Any]:
    return lambda m, x, *more: getattr(x, name)(*more, *args, **keywords)


def function(name: str, *args: Any, **keywords: Any) -> Callable[..., Any]:
    return lambda m, *tensors: getattr(m, name)(*tensors, *args, **keywords)


def listed(name: str, *args: Any, **keywords: Any) -> Callable[..., Any]:
    return lambda m, *tensors: getattr(m, name)(tensors, *args, **keywords)


def both(name: str, *args: Any) -> list[Callable[..., Any]]:
    return [method(name, *args), function(name, *args)]


def cases() -> Iterator[tuple[str, Case]]:
    for name, group in GROUPS.items():
        for case in group():
            yield name, case


def shapes_of_views() -> Iterator[Case]:
    for shape, size in [
        ((2, 3), (3, 2)),
        ((2, 3), (-1,)),
        ((), (1, 1)),
        ((0, 3), (0, 2)),
        ((4,), (2, -1)),
        ((2, 3), (4,)),
        ((2, 3), (-1, -1)),
        ((0,), (0, -1)),
    ]:
        yield Case(method("view", size), shape)
        yield Case(method("view", *size), shape)
        for call in both("reshape", size):
            yield Case(call, shape)
    yield Case(lambda m, x: x.t().view(-1), (2, 3))
    yield Case(lambda m, x: x.t().reshape(-1), (2, 3))
    yield Case(method("view_as"), (2, 3), (3, 2))
    yield Case(method("reshape_as"), (2, 3), (3, 2))
    for args in [(), (1,), (0, 1), (1, 0), (3,)]:
        for call in both("flatten", *args):
            yield Case(call, (2, 3, 4))
            yield Case(call, ())
            yield Case(call, (3,))
    yield Case(lambda m, x: x.t().flatten(), (3, 2))
    for args in [(0, (2, 3)), (-2, (3, -1)), (0, (4, 2)), (0, ())]:
        for call in both("unflatten", *args):
            yield Case(call, (6, 2))
    for call in both("ravel"):
        yield Case(call, (2, 3))
        yield Case(call, ())
    yield Case(lambda m, x: x.t().ravel(), (2, 3))


def orders() -> Iterator[Case]:
    for name in ("transpose", "swapaxes", "swapdims"):
        for dims in [(0, 1), (-1, 0), (1, 1), (0, 3)]:
            for call in both(name, *dims):
                yield Case(call, (2, 3, 4))
    for shape in [(2, 3), (3,), (), (2, 3, 4)]:
        for call in both("t"):
            yield Case(call, shape)
        for attribute in ("T", "mT", "mH", "H"):
            yield Case(lambda m, x, a=attribute: getattr(x, a), shape)
        yield Case(function("adjoint"), shape)
    for dims in [(2, 0, 1), (-1, 0, 1), (0,), (0, 0, 1), (0, 1, 3)]:
        for call in both("permute", dims):
            yield Case(call, (2, 3, 4))
    yield Case(method("permute", 1, 0), (2, 3))
    yield Case(method("permute", ()), ())
    for name in ("movedim", "moveaxis"):
        for args in [(0, 2), ((0, 1), (2, 0)), ((0, 0), (2, 0)), (3, 0), ((0,), (2, 0)), ((), ())]:
            for call in both(name, *args):
                yield Case(call, (2, 3, 4))
        yield Case(method(name, 0, 0), ())


def sizes_of_one() -> Iterator[Case]:
    for shape in [(2, 1, 3, 1), (1,), (), (2,), (1, 1)]:
        for args in [(), (0,), (-1,), ((0, 1),), ((),), (5,)]:
            for call in both("squeeze", *args):
                yield Case(call, shape)
        for dim in (-1, 0, 1, -5):
            for call in both("unsqueeze", dim):
                yield Case(call, shape)
        yield Case(lambda m, x: x.mT.unsqueeze(-1) if x.ndim > 1 else x, shape)
        for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
            yield Case(function(name), shape)
            yield Case(function(name), shape, ())
            yield Case(listed(name), shape, ())


def expansions() -> Iterator[Case]:
    for shape, size in [
        ((3, 1), (3, 4)),
        ((3, 1), (2, -1, 4)),
        ((), (2,)),
        ((1, 2), (0, 2)),
        ((3,), (2,)),
        ((2, 3), (3,)),
        ((3,), (2, 3)),
        ((3, 1), (3, 1)),
    ]:
        yield Case(method("expand", size), shape)
        yield Case(method("expand", *size), shape)
        for call in both("broadcast_to", size):
            yield Case(call, shape)
    yield Case(lambda m, x, y: x.expand_as(y) * y, (3, 1), (3, 4))
    for other in [(1, 4), (2, 4), (4,), ()]:
        yield Case(function("broadcast_tensors"), (3, 1), other)
    for indexing in ("ij", "xy", "zz"):
        yield Case(function("meshgrid", indexing=indexing), (2,), (3,))
        yield Case(listed("meshgrid", indexing=indexing), (2,), (3,), (4,))
        yield Case(function("meshgrid", indexing=indexing), (2,))
        yield Case(function("meshgrid", indexing=indexing), (2,), ())
        yield Case(function("meshgrid", indexing=indexing), (2,), (1, 2))


def repetitions() -> Iterator[Case]:
    for shape, repeats in [
        ((2, 3), (2, 1)),
        ((3,), (2, 2)),
        ((), (3,)),
        ((2,), (0,)),
        ((2, 3), (1, 1)),
        ((2, 3), (2,)),
        ((2,), (-1,)),
        ((2, 0), (2, 3)),
        ((2, 3), (3, 1, 2)),
    ]:
        yield Case(method("repeat", repeats), shape)
        yield Case(method("repeat", *repeats), shape)
        for call in both("tile", repeats):
            yield Case(call, shape)
    for args in [(2,), (2, 1), (3, 0), (-1,), (2, -1), (0, 0), (2, 5)]:
        for call in both("repeat_interleave", *args):
            yield Case(call, (2, 3))
    yield Case(method("repeat_interleave", 2), ())
    for counts, dim in [([1, 2], 0), ([1, 0, 2], -1), ([1, 0], -1), (2, None), ([2], 1)]:
        yield Case(
            lambda m, x, c=counts, d=dim: m.repeat_interleave(x, m.tensor(c), dim=d), (2, 3), meta=False
        )
    yield Case(lambda m: m.repeat_interleave(m.tensor([1, 0, 2])))


def joins() -> Iterator[Case]:
    for name in ("cat", "concat", "concatenate"):
        for shapes, args in [
            (((2, 3), (4, 3)), ()),
            (((2, 3), (2, 1)), (-1,)),
            (((0,), (2, 2)), ()),
            (((2, 3), (3, 2)), ()),
            (((2,), (2,)), (1,)),
            (((2,), ()), ()),
            ((), ()),
            (((3,),), ()),
            (((2, 0, 3), (2, 2, 3)), (1,)),
            (((0,), (0,)), ()),
        ]:
            yield Case(listed(name, *args), *shapes)
        yield Case(lambda m, x, n=name: getattr(m, n)([x, x, x]), (3,))
    for dim in (0, -1, 1, 2, 3):
        yield Case(listed("stack", dim), (2, 3), (2, 3))
    yield Case(listed("stack"), (2,), (3,))
    yield Case(listed("stack"))
    for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
        for shapes in [
            ((2, 3), (2, 3)),
            ((3,), (3,)),
            ((), ()),
            ((2, 3, 2), (2, 3, 2)),
            ((3,), (2, 3)),
            ((3,), (3, 2)),
            (),
        ]:
            yield Case(listed(name), *shapes)
    yield Case(lambda m, x: m.cat([x, m.ones(2, dtype=m.int64)]), (3,), meta=False)
    yield Case(lambda m, x: m.stack([m.ones(2, dtype=m.uint8), m.ones(2, dtype=m.int8)]), (3,))


def splits() -> Iterator[Case]:
    for n in (2, 3, 5, 0, -1):
        for name in ("split", "chunk", "tensor_split"):
            for call in both(name, n):
                yield Case(call, (5, 2))
                yield Case(call, (0, 2))
                yield Case(call, ())
            yield Case(function(name, n, dim=1), (2, 5))
    for sizes in [(2, 3), (1, 1), (5, 0), (6, -1), ()]:
        for name in ("split", "split_with_sizes", "tensor_split"):
            for call in both(name, sizes):
                yield Case(call, (5, 2))
            yield Case(function(name, sizes, dim=-1), (2, 5))
    for given in ([1, 3], 2, 2.0, [[1]]):
        yield Case(lambda m, x, g=given: m.tensor_split(x, m.tensor(g)), (5, 2), meta=False)
    for name in ("hsplit", "vsplit", "dsplit"):
        for shape in [(4,), (4, 6), (4, 2, 6), ()]:
            for args in [(2,), ((1, 3),), (4,), (0,)]:
                for call in both(name, *args):
                    yield Case(call, shape)
    for shape in [(3, 2), (2,), (), (0, 2), (1, 2)]:
        for args in [(), (-1,), (1,)]:
            for call in both("unbind", *args):
                yield Case(call, shape)
    yield Case(lambda m, x: x.unbind()[0], (3, 2))
    yield Case(lambda m, x: x.split(2)[1], (5, 2))
    yield Case(lambda m, x: list(x), (3, 2))


def parts() -> Iterator[Case]:
    for args in [(0, 1), (1, -1), (0, 3), (2, 0)]:
        for call in both("select", *args):
            yield Case(call, (3, 4))
            yield Case(call, (3,))
            yield Case(call, ())
    for args in [(0, 1, 2), (-1, -3, 2), (0, 3, 0), (0, 2, 2), (0, 0, -1), (0, 5, 0), (0, -4, 1)]:
        for call in both("narrow", *args):
            yield Case(call, (3, 4))
        yield Case(function("narrow_copy", *args), (3, 4))
        yield Case(method("narrow", *args), ())
    yield Case(lambda m, x: m.narrow(x, 0, m.tensor(1), 2), (4,))
    yield Case(lambda m, x: m.narrow(x, 0, m.tensor([1]), 2), (4,))
    for args in [
        ((2, 2), (4, 1), 1),
        ((2, 2), (1, 1)),
        ((3,), (0,)),
        ((), (), 2),
        ((5, 5), (1, 1), 20),
        ((2,), (1, 1)),
        ((2,), (-1,)),
        ((4, 3), (1, 4)),
    ]:
        for call in both("as_strided", *args):
            yield Case(call, (3, 4))
        yield Case(lambda m, x, a=args: x.t().as_strided(*a), (4, 3))
        yield Case(lambda m, x, a=args: x[1:].as_strided(*a), (4, 4))
    for args in [(0, 3, 2), (0, 2, 1), (1, 2, 2), (0, 8, 1), (0, 2, 0), (0, 0, 1), (0, -1, 1)]:
        yield Case(method("unfold", *args), (7,))
        yield Case(method("unfold", *args), (3, 5))
        yield Case(method("unfold", *args), ())


def diagonals() -> Iterator[Case]:
    for args in [(), (1,), (-1,), (0, 1, 0), (5,), (0, 0, 0), (0, -1, 0)]:
        for call in both("diagonal", *args):
            yield Case(call, (3, 4))
            yield Case(call, (2, 3, 4))
            yield Case(call, (3,))
        for call in both("diag_embed", *args):
            yield Case(call, (2, 3))
            yield Case(call, (3,))
    for offset in (0, 1, -1, 3):
        for shape in [(3,), (3, 4), (3, 4, 2), ()]:
            for call in both("diag", offset):
                yield Case(call, shape)
            for call in both("diagflat", offset):
                yield Case(call, shape)
    for name in ("tril", "triu"):
        for offset in (0, 1, -1, 7, -7):
            for call in both(name, offset):
                for shape in [(3, 4), (2, 3, 3), (3,), (0, 3)]:
                    yield Case(call, shape)
            yield Case(lambda m, x, n=name, o=offset: getattr(x * 1, n + "_")(o), (3, 3))


def rearrangements() -> Iterator[Case]:
    for dims in [(0,), (0, 1), (-1,), (), (2,), (0, 0)]:
        for call in both("flip", dims):
            yield Case(call, (2, 3))
            yield Case(call, ())
    yield Case(method("flip", 0, 1), (2, 3))
    for name in ("fliplr", "flipud"):
        for shape in [(2, 3), (3,), ()]:
            for call in both(name):
                yield Case(call, shape)
    for args in [(), (2,), (3,), (4,), (-1, (1, 0)), (1, (0,)), (1, (0, 0)), (1, (0, 2)), (1, (0, -2))]:
        for call in both("rot90", *args):
            for shape in [(2, 3), (3,), (2, 3, 2)]:
                yield Case(call, shape)
    for args in [
        (1, 0),
        ((1, -2), (0, 1)),
        (5,),
        ((1, 2), (0,)),
        (1, 2),
        ((), ()),
        ((1, 2), (0, 0)),
        (-1, -1),
    ]:
        for call in both("roll", *args):
            for shape in [(3, 4), (), (0, 2)]:
                yield Case(call, shape)


def copies() -> Iterator[Case]:
    yield Case(method("contiguous"), (2, 3))
    yield Case(lambda m, x: x.t().contiguous(memory_format=m.contiguous_format), (2, 3))
    for call in both("clone"):
        yield Case(call, (2, 3))
    yield Case(lambda m, x: x.t().clone(), (2, 3))
    yield Case(lambda m, x: x.t().clone(memory_format=m.contiguous_format), (2, 3))
    yield Case(lambda m, x: x.expand(3, 2).clone(), (3, 1))
    for call in both("detach"):
        yield Case(call, (2,))
    for shapes in [((2, 3), (3,)), ((2, 3), ()), ((2, 3), (2,)), ((3,), (2, 3))]:
        yield Case(lambda m, x, y: (x * 1).copy_(y), *shapes)
    yield Case(lambda m, x, y: (x * 1).copy_(y.float()), (3,), (3,))
    yield Case(lambda m, x, y: (x * 1).float().copy_(y), (3,), (3,))
    yield Case(lambda m, x: m.zeros(3, dtype=m.int64).copy_(x), (3,), meta=False)
    yield Case(copied_into_a_view, (2, 3), (3,))
    yield Case(lambda m, x, y: m.select_scatter(x, y, 0, 1), (3, 4), (4,))
    yield Case(lambda m, x, y: x.select_scatter(y, -1, -2), (3, 4), (4,))
    yield Case(lambda m, x, y: m.slice_scatter(x, y, 0, 1, 4, 2), (5, 2), (2, 2))
    yield Case(lambda m, x, y: x.slice_scatter(y), (3,), (2,))
    yield Case(lambda m, x, y: m.diagonal_scatter(x, y, 1, 0, 2), (2, 3, 4), (3, 2))
    for dtype in ("float32", "int32", "int64", "bool", "uint8"):
        yield Case(lambda m, x, d=dtype: x.to(getattr(m, d)), (2, 3))
        yield Case(lambda m, x, d=dtype: x.to(dtype=getattr(m, d)), (2, 3))
    for name in (
        "float",
        "double",
        "half",
        "int",
        "long",
        "short",
        "char",
        "byte",
        "bool",
        "cfloat",
        "cdouble",
    ):
        yield Case(method(name), (2, 3))
    yield Case(method("to", "cpu"), (2,), meta=False)
    yield Case(lambda m, x: x.to(m.float64, copy=True), (2,))
    yield Case(lambda m, x: x.to("cpu", m.float32, copy=True), (2,), meta=False)
    yield Case(lambda m, x, y: x.to(y.float()), (2,), (3,))
    yield Case(lambda m, x, y: x.type_as(y.float()), (2,), (3,))
    yield Case(method("to", float), (2,))
    yield Case(method("to"), (2,))


def copied_into_a_view(m: Any, x: Any, y: Any) -> Any:
    z = x * 1
    z[0].copy_(y)
    return z


def own_shapes() -> Iterator[Case]:
    for name, args, shape in [
        ("t_", (), (2, 3)),
        ("transpose_", (0, 1), (2, 3)),
        ("swapaxes_", (0, -1), (2, 3)),
        ("swapdims_", (0, 1), (2, 3)),
        ("unsqueeze_", (0,), (2,)),
        ("unsqueeze_", (-1,), (2,)),
        ("squeeze_", (), (1, 2, 1)),
        ("squeeze_", (0,), (1, 2)),
        ("squeeze_", ((0, 2),), (1, 2, 1)),
        ("as_strided_", ((2, 2), (1, 1)), (3,)),
        ("unsqueeze_", (4,), (2,)),
        ("t_", (), (2, 3, 4)),
    ]:
        yield Case(lambda m, x, n=name, a=args: getattr(x * 2, n)(*a) * 1, shape)
        yield Case(method(name, *args), shape)  # of a leaf
    yield Case(unsqueezed_view, (2, 3))
    yield Case(method("resize_", 1), (2,))
    yield Case(lambda m, x: m.arange(6.0).resize_(2, 2), (2,), meta=False)
    yield Case(lambda m, x: m.arange(4.0).resize_(3, 2)[:2], (2,), meta=False)
    yield Case(lambda m, x: m.zeros(2).resize_(-1), (2,), meta=False)


def unsqueezed_view(m: Any, x: Any) -> Any:
    z = x * 2
    view = z[0]
    view.unsqueeze_(0)
    view.mul_(3)
    return z * 1, view * 1


GROUPS = {
    f.__name__: f
    for f in (
        shapes_of_views,
        orders,
        sizes_of_one,
        expansions,
        repetitions,
        joins,
        splits,
        parts,
        diagonals,
        rearrangements,
        copies,
        own_shapes,
    )
}


@pytest.mark.parametrize("group", GROUPS)
def test_group(group: str) -> None:
    for number, case in enumerate(GROUPS[group]()):
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"case {number} of {group}, {case.shapes}: {error}") from error


def check(case: Case) -> None:
    arrays = [np.random.default_rng(7 + i).standard_normal(s) for i, s in enumerate(case.shapes)]
    leaves = [tengen.tensor(a, requires_grad=True) for a in arrays]
    others = [torch.tensor(a, requires_grad=True) for a in arrays]
    ours, theirs = outcome(case, tengen, leaves), outcome(case, torch, others)
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        assert kind_of(ours) is kind_of(theirs), f"{ours!r} | {theirs!r}"
        return
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        check_result(a, b)
    check_gradients(ours, leaves, theirs, others)
    if case.meta:
        empty = [tengen.empty(s, dtype=tengen.float64, device="meta") for s in case.shapes]
        for a, b in zip(flat(case.call(tengen, *empty)), ours, strict=True):
            assert a.shape == b.shape and a.dtype is b.dtype
            assert not b._is_view() or not b.numel() or a.stride() == b.stride()


def kind_of(value: Any) -> Any:
    """The class of an error, PyTorch's where it is one of ours derived from it."""
    return next((e for e in ERRORS if isinstance(value, e)), None)


def outcome(case: Case, library: Any, tensors: Sequence[Any]) -> Any:
    try:
        return flat(case.call(library, *tensors))
    except ERRORS as error:
        return error


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def check_result(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())
    assert ours._is_view() == theirs._is_view()
    assert ours.requires_grad == theirs.requires_grad
    if theirs._is_view() and theirs.numel():
        assert tuple(ours.stride()) == theirs.stride()
        assert ours.storage_offset() == theirs.storage_offset()


def check_gradients(ours: Any, leaves: Any, theirs: Any, others: Any) -> None:
    """First and second derivatives of the squares of the results, by either way backwards."""
    ours, theirs = [[r for r in results if r.requires_grad] for results in (ours, theirs)]
    if not theirs:
        return
    squares = [r * r for r in ours]
    first = tengen.autograd.grad(squares, leaves, weights(tengen, ours), create_graph=True, allow_unused=True)
    expected = torch.autograd.grad(
        [r * r for r in theirs], others, weights(torch, theirs), create_graph=True, allow_unused=True
    )
    compare(first, expected)
    plain = tengen.autograd.grad(squares, leaves, weights(tengen, ours), allow_unused=True, retain_graph=True)
    compare(plain, expected)
    second = [g * g for g in first if g is not None and g.requires_grad]
    expected_second = [g * g for g in expected if g is not None and g.requires_grad]
    if expected_second:
        ones = [tengen.ones_like(g) for g in second]
        compare(
            tengen.autograd.grad(second, leaves, ones, allow_unused=True),
            torch.autograd.grad(
                expected_second, others, [torch.ones_like(g) for g in expected_second], allow_unused=True
            ),
        )


def weights(library: Any, results: Sequence[Any]) -> list[Any]:
    return [
        library.tensor(np.random.default_rng(i).standard_normal(tuple(r.shape))).to(r.dtype)
        for i, r in enumerate(results)
    ]


def compare(ours: Any, theirs: Any) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-12)
